"""Placeholder of the lead: to be overwritten by the helper who owns this file."""
import numpy as np
from typing import Any
def get_item(tensor: Any, index: Any) -> Any:
    return type(tensor)._wrap(np.asarray(tensor._data)[index])
def set_item(tensor: Any, index: Any, value: Any) -> Any:
    a = np.array(tensor._data); a[index] = np.asarray(value); return type(tensor)._wrap(a)
