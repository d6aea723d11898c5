"""A process-wide flag: whether any tensor has hooks."""

from __future__ import annotations

from typing import ClassVar


class TensorHooks:
    """Compiled programs check their arguments for hooks only after a hook has been registered."""

    present: ClassVar[bool] = False
