"""Importing this module makes `import mindspore` give Mycelia, in this process."""

from mycelia.compat.importer import install

install()
