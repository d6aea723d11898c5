"""Exporting networks to files, loading them, and running loaded programs."""

from mycelia.export.graph_cell import GraphCell as GraphCell
from mycelia.export.mindir import export as export
from mycelia.export.mindir import load as load
