"""MindSpore compatibility: serves MindSpore's module paths, so `import mindspore` works."""

from mycelia.compat.coverage_report import coverage as coverage
from mycelia.compat.importer import install as install
