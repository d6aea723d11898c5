"""MindSpore's path to reshard."""

from mycelia.ops.collective.redistribute import reshard as reshard
