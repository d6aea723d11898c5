"""Fractional max pooling: windows at random positions (Graham, 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia._engine.core.checks import check_range, check_string
from mycelia._engine.core.dtype import int64
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.window import positive_sizes
from mycelia.ops.argument_types import FLOATS, REALS, check_kinds
from mycelia.ops.random.distributions import UniformReal
from mycelia.ops.shapes.reshape import expand_dims, squeeze


class FractionalMaximum(Op, register=False):
    """Maximum of each window and its index; each axis of a channel uses one random sample."""

    space: ClassVar[int] = 2
    order: ClassVar[Shape] = (0, 1)  # which random sample belongs to which axis
    ksize: Any
    output_shape: Any

    def normalize(self) -> dict[str, Any]:
        name, rank = type(self).__name__, self.space
        return {
            "ksize": positive_sizes(name, "ksize", self.ksize, rank),
            "output_shape": positive_sizes(name, "output_shape", self.output_shape, rank),
        }

    def infer(self, input_x: TensorType, random_samples: TensorType) -> tuple[Any, Any]:
        rank = self.space
        if input_x.ndim != rank + 2 or random_samples.shape != (*input_x.shape[:2], rank):
            raise problem(
                ValueError,
                f"{self.name}: give {rank} random samples for each channel of each image",
                got=f"input {input_x}, random_samples {random_samples}",
            )
        check_kinds(self.name, REALS, input_x=input_x)
        check_kinds(self.name, FLOATS, random_samples=random_samples)
        sizes = zip(input_x.shape[2:], self.ksize, self.output_shape, strict=True)
        if any(k + o - 1 > n for n, k, o in sizes):
            raise problem(
                ValueError,
                f"{self.name}: the windows do not fit",
                got=f"input {input_x}, ksize {self.ksize}, output_shape {self.output_shape}",
            )
        shape = (*input_x.shape[:2], *self.output_shape)
        return input_x.with_shape(shape), TensorType(int64, shape)

    def lower(self, input_x: Array, random_samples: Array) -> tuple[Array, Array]:
        sizes, rank = input_x.shape[2:], self.space
        positions: Any = 0
        for axis in range(rank):
            along = self._window_indices(random_samples[..., self.order[axis]], axis, sizes[axis])
            shape = [*along.shape[:2], *(1 for _ in range(2 * rank))]
            shape[2 + axis], shape[2 + rank + axis] = along.shape[2], along.shape[3]
            positions = positions * sizes[axis] + jnp.reshape(along, shape)
        batch = input_x.shape[:2]
        positions = jnp.reshape(positions, (*batch, *self.output_shape, -1))
        flat = jnp.reshape(input_x, (*batch, -1))
        read = jnp.take_along_axis(flat, jnp.reshape(positions, (*batch, -1)), axis=-1)
        read = jnp.reshape(read, positions.shape)
        best = jnp.argmax(read, axis=-1, keepdims=True)
        found = [jnp.take_along_axis(part, best, axis=-1)[..., 0] for part in (read, positions)]
        return found[0], found[1].astype(jnp.int64)

    def _window_indices(self, sample: Array, axis: int, size: int) -> Array:
        """Indices that each window covers along one axis: (batch, channels, windows, points)."""
        kernel, count = self.ksize[axis], self.output_shape[axis]
        step = (size - kernel) / max(count - 1, 1)
        number = jnp.arange(count)
        moved = jnp.floor((number + sample[..., None]) * step) - jnp.floor(sample * step)[..., None]
        start = jnp.where(number == count - 1, size - kernel, moved).astype(jnp.int32)
        return start[..., None] + jnp.arange(kernel)


class FractionalMaxPoolWithFixedKsize(FractionalMaximum):
    """Fractional max pooling of images (N, C, H, W)."""

    order = (1, 0)
    data_format: str = "NCHW"
    examples = (
        case(
            "f32[1,2,6,7]:distinct", "f32[1,2,2]:unit", ksize=2, output_shape=(3, 4), constants=(1,)
        ),
        case("i32[1,1,5,5]", "f32[1,1,2]:unit", ksize=(2, 1), output_shape=2),
    )

    def normalize(self) -> dict[str, Any]:
        check_string(type(self).__name__, "data_format", self.data_format, ("NCHW",))
        return super().normalize()


class FractionalMaxPool3DWithFixedKsize(FractionalMaximum):
    """Fractional max pooling of volumes (N, C, D, H, W)."""

    space = 3
    order = (0, 1, 2)
    data_format: str = "NCDHW"
    examples = (
        case(
            "f32[1,1,4,5,4]:distinct",
            "f32[1,1,3]:unit",
            ksize=2,
            output_shape=(2, 3, 2),
            constants=(1,),
        ),
    )

    def normalize(self) -> dict[str, Any]:
        check_string(type(self).__name__, "data_format", self.data_format, ("NCDHW",))
        return super().normalize()


def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Fractional max pooling of images: the windows lie at random positions."""
    pool = FractionalMaxPoolWithFixedKsize
    sizes = output_size, output_ratio
    return _pooled(
        "fractional_max_pool2d", pool, input, kernel_size, sizes, return_indices, _random_samples
    )


def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Fractional max pooling of volumes: the windows lie at random positions."""
    pool = FractionalMaxPool3DWithFixedKsize
    sizes = output_size, output_ratio
    return _pooled(
        "fractional_max_pool3d", pool, input, kernel_size, sizes, return_indices, _random_samples
    )


def _pooled(
    owner: str,
    pool: Any,
    input: Any,
    kernel: Any,
    sizes: tuple[Any, Any],
    return_indices: bool,
    samples: Any,
) -> Any:
    single = len(input.shape) == pool.space + 1
    images = expand_dims(input, 0) if single else input
    if samples is None:
        samples = UniformReal.of()((*images.shape[:2], pool.space))
    output = _output(owner, images.shape[2:], *sizes)
    found = pool(kernel, output)(images, samples)
    found = tuple(squeeze(part, 0) for part in found) if single else found
    return found if return_indices else found[0]


def _output(owner: str, sizes: Shape, output_size: Any, output_ratio: Any) -> Any:
    if output_size is not None:
        return output_size
    if output_ratio is None:
        raise problem(
            ValueError,
            f"{owner}: the output size is missing",
            expected="output_size or output_ratio",
        )
    single = isinstance(output_ratio, (int, float))
    ratios = (output_ratio,) * len(sizes) if single else tuple(output_ratio)
    for ratio in ratios:
        check_range(owner, "output_ratio", ratio, 0.0, 1.0, closed="none")
    return tuple(int(n * ratio) for n, ratio in zip(sizes, ratios, strict=True))
