"""Summaries of training runs, in files for TensorBoard."""

from mycelia.train.summary.summary_record import SummaryRecord as SummaryRecord
