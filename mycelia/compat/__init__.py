"""MindSpore's module paths served from Mycelia, so that `import mindspore` works unchanged."""

from mycelia.compat.coverage_report import coverage as coverage
from mycelia.compat.importer import install as install
