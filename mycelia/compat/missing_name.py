"""Placeholder for MindSpore's internal names that Mycelia lacks: only using one is an error."""

from __future__ import annotations

from typing import Any, NoReturn


class MissingName:
    """Placeholder of a missing name: calling it, subclassing it, or reading attributes raises."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImportError(self._text)

    __call__ = __mro_entries__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __instancecheck__ = __subclasscheck__ = __enter__ = __exit__ = __bool__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._text}\n  so it has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{self._text.splitlines()[0]}>"
