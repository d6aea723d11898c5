"""Programs in files: exporting a network, loading it, running what was loaded."""

from mycelia.export.graph_cell import GraphCell as GraphCell
from mycelia.export.mindir import export as export
from mycelia.export.mindir import load as load
