"""Values in code: constants, names, and objects."""

from __future__ import annotations

import pytest

from mycelia import Tensor
from mycelia.rewrite import NodeType, ScopedValue, ValueType


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (2, ValueType.ConstantValue, "2"),
        ("a", ValueType.ConstantValue, "a"),
        (1.5, ValueType.ConstantValue, "1.5"),
        (None, ValueType.ConstantValue, "None"),
        ((1, 2), ValueType.TupleValue, "(1, 2)"),
        ([1, (2,)], ValueType.ListValue, "[1, (2,)]"),
        ({"a": 1}, ValueType.DictValue, "{a: 1}"),
    ],
)
def test_python_values(value, kind, text):
    made = ScopedValue.create_variable_value(value)
    assert (made.type, made.scope, str(made)) == (kind, "", text)


def test_objects_are_compared_by_identity():
    tensor = Tensor(1.0)
    made = ScopedValue.create_variable_value(tensor)
    assert made.type is ValueType.CustomObjValue and made.value is tensor
    assert str(made).startswith("CustomObj: ")
    assert made == ScopedValue.create_variable_value(tensor)
    assert made != ScopedValue.create_variable_value(Tensor(1.0))


def test_names_with_and_without_scope():
    name = ScopedValue.create_naming_value("conv", "self")
    assert (str(name), name.value, name.scope) == ("self.conv", "conv", "self")
    assert name == ScopedValue(ValueType.NamingValue, "self", "conv")
    assert name != ScopedValue.create_naming_value("conv")
    assert len({name, ScopedValue.create_naming_value("conv", "self")}) == 1
    values = ScopedValue.create_name_values(["z", "z_1"], ["self", "self"])
    assert repr(values) == "[self.z, self.z_1]"
    assert repr(ScopedValue.create_name_values(("a",))) == "[a]"


def test_a_bool_is_not_a_number():
    assert ScopedValue.create_variable_value(True) != ScopedValue.create_variable_value(1)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="'name' must be str"):
        ScopedValue.create_naming_value(1)
    with pytest.raises(TypeError, match="'scope' must be str"):
        ScopedValue.create_naming_value("a", 1)
    with pytest.raises(TypeError, match="'names' must be list or tuple"):
        ScopedValue.create_name_values("a")
    with pytest.raises(ValueError, match="Length of names"):
        ScopedValue.create_name_values(["a"], ["b", "c"])
    with pytest.raises(TypeError, match="'arg_type' must be ValueType"):
        ScopedValue(3)


def test_numbers_of_the_kinds_are_those_of_mindspore():
    assert [t.value for t in ValueType] == [0, 20, 21, 22, 40, 41, 50]
    assert [t.name for t in NodeType] == (
        "Unknown CallCell CallPrimitive CallModule CallFunction CallMethod Python Input Output "
        "Tree CellContainer MathOps ControlFlow".split()
    )
