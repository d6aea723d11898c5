"""The only import of jax, configured with the settings that the whole framework relies on."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)  # float64 and int64 are never silently truncated

Array = Any  # a jax array, a numpy array, or a tracer: any value in `lower`

__all__ = ["Array", "jax", "jnp", "lax"]
