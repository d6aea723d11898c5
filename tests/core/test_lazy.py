"""Modules that are imported when they are first used."""

from __future__ import annotations

import copy
import sys

import pytest

from mycelia._engine.core.lazy_import import LazyModule, LazyNames, optional_module


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose modules note that they were imported."""
    folder = tmp_path / "lazy_example"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "tools.py").write_text("value = 3\ndef twice(x): return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "lazy_example"
    for name in [n for n in sys.modules if n.partition(".")[0] == "lazy_example"]:
        del sys.modules[name]


def test_a_module_is_imported_at_its_first_use(package):
    tools = LazyModule("lazy_example.tools")
    assert "lazy_example" not in sys.modules
    assert tools.twice(tools.value) == 6
    assert "lazy_example.tools" in sys.modules


def test_a_change_of_the_module_is_seen(package):
    tools = LazyModule("lazy_example.tools")
    assert tools.value == 3
    sys.modules["lazy_example.tools"].value = 4
    assert tools.value == 4


def test_a_module_is_prepared_once(package):
    seen = []
    tools = LazyModule("lazy_example.tools", seen.append)
    assert seen == []
    assert tools.value == tools.value == 3
    assert seen == [sys.modules["lazy_example.tools"]]


def test_looking_at_a_lazy_module_does_not_import_it(package):
    tools = LazyModule("lazy_example.tools")
    assert repr(tools) == "<module 'lazy_example.tools', imported on first use>"
    assert not hasattr(tools, "__wrapped__")
    assert copy.copy(tools).value == 3


def test_a_missing_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="nothing"):
        LazyModule("lazy_example.tools").nothing


def test_an_optional_module_is_none_where_its_package_is_not_installed(package):
    assert optional_module("no_such_package.inner") is None
    assert optional_module("lazy_example.tools").value == 3


def test_a_broken_optional_module_says_so_when_it_is_used(package, tmp_path):
    (tmp_path / "lazy_example" / "broken.py").write_text("import no_such_package")
    broken = optional_module("lazy_example.broken")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        broken.value


def test_names_of_a_package_are_modules_or_stand_in_them(package):
    __import__(package)
    kinds = {"tools": None, "instruments": "lazy_example.tools", "value": "lazy_example.tools:"}
    names = LazyNames(package, kinds)
    assert set(kinds) <= set(names.listed())
    assert "lazy_example.tools" not in sys.modules
    assert names.find("value") == 3
    tools = sys.modules["lazy_example.tools"]
    assert names.find("tools") is names.find("instruments") is tools
    assert sys.modules[package].instruments is tools  # found without asking from now on


def test_another_name_of_a_package_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="module 'lazy_example' has no attribute 'other'"):
        LazyNames(package, {}).find("other")
