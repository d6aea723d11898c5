"""Importing this module makes `import mindspore` import Mycelia in this process."""

from mycelia.compat.importer import install

install()
