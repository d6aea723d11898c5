"""Summaries: what a training says of itself, in files that TensorBoard shows."""

from mycelia.train.summary.summary_record import SummaryRecord as SummaryRecord
