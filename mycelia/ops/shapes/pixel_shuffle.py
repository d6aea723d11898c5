"""Moving elements between channels, batch, and space: depth_to_space, pixel_shuffle, ..."""

from __future__ import annotations

from math import prod
from typing import Any

from mycelia._engine.core.checks import check_int, check_positive_int, is_int
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import reshape, transpose


class DepthToSpace(Op):
    """Rearranges blocks of channels of an NCHW tensor into squares of pixels."""

    block_size: int
    examples = (case("f32[1,8,1,2]", block_size=2), case("f32[0,4,2,2]", block_size=2))

    def normalize(self) -> dict[str, Any]:
        _check_block("DepthToSpace", self.block_size)
        return {}

    def infer(self, x: TensorType) -> TensorType:
        n, c, h, w = _four_axes(self.name, x)
        b = self.block_size
        if c % (b * b):
            raise wrong_value(self.name, "channels", c, f"a multiple of block_size² = {b * b}")
        return x.with_shape((n, c // (b * b), h * b, w * b))

    def lower(self, x: Array) -> Array:
        n, c, h, w = x.shape
        b = self.block_size
        parts = jnp.reshape(x, (n, b, b, c // (b * b), h, w))
        return parts.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (SpaceToDepth.of(self.block_size)(dout),)


class SpaceToDepth(Op):
    """Rearranges squares of pixels of an NCHW tensor into blocks of channels."""

    block_size: int
    examples = (case("f32[1,2,2,4]", block_size=2), case("f32[0,1,2,2]", block_size=2))

    def normalize(self) -> dict[str, Any]:
        _check_block("SpaceToDepth", self.block_size)
        return {}

    def infer(self, x: TensorType) -> TensorType:
        n, c, h, w = _four_axes(self.name, x)
        b = self.block_size
        if h % b or w % b:
            raise wrong_value(self.name, "height and width", (h, w), f"multiples of {b}")
        return x.with_shape((n, c * b * b, h // b, w // b))

    def lower(self, x: Array) -> Array:
        n, c, h, w = x.shape
        b = self.block_size
        parts = jnp.reshape(x, (n, c, h // b, b, w // b, b))
        return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (DepthToSpace.of(self.block_size)(dout),)


class SpaceToBatchND(Op):
    """Pads the last axes with zeros, then moves blocks of them to the batch axis."""

    block_shape: tuple[int, ...]
    paddings: tuple[tuple[int, int], ...]
    examples = (
        case("f32[1,2,2,2]", block_shape=(2, 2), paddings=((0, 0), (1, 1))),
        case("f32[2,1,2,4]", block_shape=2, paddings=((0, 0), (0, 0))),
    )

    def normalize(self) -> dict[str, Any]:
        return _check_blocks(self.name, self.block_shape, "paddings", self.paddings)

    def infer(self, input_x: TensorType) -> TensorType:
        lead, space = _space(self.name, input_x, len(self.block_shape))
        grown = [n + a + b for n, (a, b) in zip(space, self.paddings, strict=True)]
        if any(n % b for n, b in zip(grown, self.block_shape, strict=True)):
            raise problem(
                RuntimeError,
                f"{self.name}: the padded sizes must be multiples of the blocks",
                got=f"{input_x} padded to {grown}, blocks {self.block_shape}",
            )
        cut = [n // b for n, b in zip(grown, self.block_shape, strict=True)]
        return input_x.with_shape((lead[0] * prod(self.block_shape), *lead[1:], *cut))

    def lower(self, input_x: Array) -> Array:
        blocks = self.block_shape
        count, first = len(blocks), input_x.ndim - len(blocks)
        grown = jnp.pad(jnp.asarray(input_x), [(0, 0)] * first + list(self.paddings))
        lead, space = grown.shape[:first], grown.shape[first:]
        cut = [size for n, b in zip(space, blocks, strict=True) for size in (n // b, b)]
        inner = [first + 2 * i + 1 for i in range(count)]
        outer = [first + 2 * i for i in range(count)]
        moved = grown.reshape(*lead, *cut).transpose(*inner, *range(first), *outer)
        return moved.reshape(prod(blocks) * lead[0], *lead[1:], *cut[::2])

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (BatchToSpaceND.of(self.block_shape, self.paddings)(dout),)


class BatchToSpaceND(Op):
    """Moves batch entries to blocks of the last axes, then crops their edges."""

    block_shape: tuple[int, ...]
    crops: tuple[tuple[int, int], ...]
    examples = (
        case("f32[8,1,2,2]", block_shape=(2, 2), crops=((0, 1), (1, 0))),
        case("f32[4,1,1,2]", block_shape=2, crops=((0, 0), (0, 0))),
    )

    def normalize(self) -> dict[str, Any]:
        return _check_blocks(self.name, self.block_shape, "crops", self.crops)

    def infer(self, input_x: TensorType) -> TensorType:
        lead, space = _space(self.name, input_x, len(self.block_shape))
        if lead[0] % prod(self.block_shape):
            raise problem(
                ValueError,
                f"{self.name}: the batch must be a multiple of the blocks",
                got=f"{input_x}, blocks {self.block_shape}",
                expected=f"a first axis that {prod(self.block_shape)} divides",
            )
        sizes = [
            n * b - low - high
            for n, b, (low, high) in zip(space, self.block_shape, self.crops, strict=True)
        ]
        if any(n < 0 for n in sizes):
            raise wrong_value(self.name, "crops", self.crops, f"within {list(space)} times blocks")
        return input_x.with_shape((lead[0] // prod(self.block_shape), *lead[1:], *sizes))

    def lower(self, input_x: Array) -> Array:
        blocks = self.block_shape
        count, first = len(blocks), input_x.ndim - len(blocks)
        batch = input_x.shape[0] // prod(blocks)
        rest, space = input_x.shape[1:first], input_x.shape[first:]
        parts = jnp.reshape(input_x, (*blocks, batch, *rest, *space))
        lead = [count + i for i in range(first)]
        pairs = [axis for i in range(count) for axis in (count + first + i, i)]
        sizes = [n * b for n, b in zip(space, blocks, strict=True)]
        whole = parts.transpose(*lead, *pairs).reshape(batch, *rest, *sizes)
        inside = [slice(a, n - b) for n, (a, b) in zip(sizes, self.crops, strict=True)]
        return whole[(..., *inside)]

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (SpaceToBatchND.of(self.block_shape, self.crops)(dout),)


class SpaceToBatch(Op):
    """Moves square blocks of height and width of an NCHW tensor to the batch axis."""

    block_size: int
    paddings: tuple[tuple[int, int], ...]
    examples = (case("f32[1,1,2,2]", block_size=2, paddings=((0, 0), (1, 1))),)

    def normalize(self) -> dict[str, Any]:
        _check_block("SpaceToBatch", self.block_size)
        return {"paddings": freeze(self.paddings)}

    def infer(self, input_x: TensorType) -> TensorType:
        _four_axes(self.name, input_x)
        return SpaceToBatchND.of((self.block_size,) * 2, self.paddings).infer(input_x)

    def lower(self, input_x: Array) -> Array:
        return SpaceToBatchND.of((self.block_size,) * 2, self.paddings).lower(input_x)

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (BatchToSpaceND.of((self.block_size,) * 2, self.paddings)(dout),)


class BatchToSpace(Op):
    """Moves batch entries to square blocks of an NCHW tensor, then crops its edges."""

    block_size: int
    crops: tuple[tuple[int, int], ...]
    examples = (case("f32[8,1,2,2]", block_size=2, crops=((0, 1), (1, 0))),)

    def normalize(self) -> dict[str, Any]:
        _check_block("BatchToSpace", self.block_size)
        return {"crops": freeze(self.crops)}

    def infer(self, input_x: TensorType) -> TensorType:
        _four_axes(self.name, input_x)
        return BatchToSpaceND.of((self.block_size,) * 2, self.crops).infer(input_x)

    def lower(self, input_x: Array) -> Array:
        return BatchToSpaceND.of((self.block_size,) * 2, self.crops).lower(input_x)

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (SpaceToBatchND.of((self.block_size,) * 2, self.crops)(dout),)


class ChannelShuffle(Op):
    """Channel shuffle: interleaves the channels of `group` groups."""

    group: int
    examples = (case("f32[1,6,1,2]", group=2), case("f32[2,4,2,1]", group=4))

    def normalize(self) -> dict[str, Any]:
        check_positive_int("ChannelShuffle", "group", self.group)
        return {}

    def infer(self, x: TensorType) -> TensorType:
        if x.ndim <= 3:
            raise problem(
                TypeError, "ChannelShuffle: the input must have more than 3 dimensions", got=str(x)
            )
        if x.shape[1] % self.group:
            raise wrong_value(self.name, "channels", x.shape[1], f"a multiple of {self.group}")
        return x

    def lower(self, x: Array) -> Array:
        n, c, *rest = x.shape
        parts = jnp.reshape(x, (n, self.group, c // self.group, *rest))
        return jnp.swapaxes(parts, 1, 2).reshape(x.shape)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (ChannelShuffle.of(max(1, x.shape[1] // self.group))(dout),)


def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Any:
    """Moves batch entries to blocks of the last axes, then crops their edges."""
    return BatchToSpaceND.of(freeze(block_shape), freeze(crops))(input_x)


def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Any:
    """Pads the last axes with zeros, then moves blocks of them to the batch axis."""
    return SpaceToBatchND.of(freeze(block_size), freeze(paddings))(input_x)


def channel_shuffle(x: Any, groups: int) -> Any:
    """Channel shuffle: interleaves the channels of `groups` groups."""
    return ChannelShuffle.of(groups)(x)


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Pixel shuffle: rearranges (..., C·r², H, W) to (..., C, H·r, W·r)."""
    check_tensors("pixel_shuffle", input=input)
    r = check_positive_int("pixel_shuffle", "upscale_factor", upscale_factor)
    lead, (c, h, w) = _image("pixel_shuffle", input)
    if c % (r * r):
        raise wrong_value("pixel_shuffle", "channels", c, f"a multiple of {r * r}")
    k = len(lead)
    parts = reshape(input, (*lead, c // (r * r), r, r, h, w))
    moved = transpose(parts, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return reshape(moved, (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Inverse of pixel shuffle: rearranges (..., C, H·r, W·r) to (..., C·r², H, W)."""
    r = check_positive_int("pixel_unshuffle", "downscale_factor", downscale_factor)
    lead, (c, h, w) = _image("pixel_unshuffle", input)
    if h % r or w % r:
        raise wrong_value("pixel_unshuffle", "height and width", (h, w), f"multiples of {r}")
    k = len(lead)
    parts = reshape(input, (*lead, c, h // r, r, w // r, r))
    moved = transpose(parts, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return reshape(moved, (*lead, c * r * r, h // r, w // r))


def _image(owner: str, x: Any) -> tuple[Shape, Shape]:
    if len(x.shape) < 3:
        raise wrong_value(owner, "input", x.shape, "a tensor of at least 3 dimensions")
    return x.shape[:-3], x.shape[-3:]


def _four_axes(owner: str, x: TensorType) -> Shape:
    if x.ndim != 4:
        raise problem(ValueError, f"{owner}: the input must be an NCHW tensor", got=str(x))
    return x.shape


def _check_block(owner: str, value: Any) -> None:
    if check_int(owner, "block_size", value) < 2:
        raise wrong_value(owner, "block_size", value, "int and must >= 2")


def _check_blocks(owner: str, blocks: Any, argument: str, pairs: Any) -> dict[str, Any]:
    ends = freeze(pairs)
    sizes = (blocks,) * len(ends) if is_int(blocks) else tuple(blocks)
    for size in sizes:
        check_positive_int(owner, "block_shape", size)
    if len(sizes) != len(ends) or any(len(e) != 2 or min(e) < 0 for e in ends):
        raise wrong_value(owner, argument, pairs, "one pair of numbers >= 0 per block size")
    return {"block_shape": sizes, argument: ends}


def _space(owner: str, x: TensorType, count: int) -> tuple[Shape, Shape]:
    if x.ndim <= count:
        raise wrong_value(owner, "input_x", str(x), f"a tensor of more than {count} dimensions")
    return x.shape[:-count], x.shape[-count:]
