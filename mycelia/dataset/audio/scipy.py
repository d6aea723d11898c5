"""Optional import of SciPy's signal processing: IIR filters, resampling."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem

try:
    from scipy import signal
except ImportError:  # the extra is not installed
    signal = None


def scipy_signal(owner: str) -> Any:
    """The module scipy.signal; if it is missing, the error names the extra to install."""
    if signal is None:
        raise problem(
            ImportError,
            f"{owner}: requires SciPy, which is not installed",
            fix="pip install 'mycelia[audio]'",
        )
    return signal
