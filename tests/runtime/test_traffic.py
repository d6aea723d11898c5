"""The bytes that collectives move, read from compiled programs and from written ones."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time

import pytest

from mycelia._engine.runtime.xla.collective_traffic import (
    CompiledCollective,
    moved_bytes,
    transfers,
)

# Compiles each function on virtual devices and prints its text and the bytes it needs.
COMPILED = """
import json
from dataclasses import asdict

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from mycelia._engine.runtime.xla.memory_plan import memory_plan

n = len(jax.devices())
line = jax.make_mesh((n,), ("x",), axis_types=(AxisType.Auto,))
texts, plans = {}, {}


def array(mesh, spec, *shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))


def compiled(name, function, *arguments, **options):
    program = jax.jit(function, **options).lower(*arguments).compile()
    texts[name] = program.as_text()
    plans[name] = asdict(memory_plan(program)) | {"peak": memory_plan(program).peak}


def on_each(function):
    return jax.shard_map(function, mesh=line, in_specs=P("x"), out_specs=P("x"), check_vma=False)


rows = array(line, P("x"), n * 4, 16)
compiled("sum", lambda x: jnp.sum(x, 0), rows)
compiled("psum", on_each(lambda x: lax.psum(x, "x")), rows)
compiled("gather", on_each(lambda x: lax.all_gather(x, "x").sum(0)), rows)
compiled("permute", on_each(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % n) for i in range(n)])), rows)
compiled("scatter", on_each(lambda x: lax.psum_scatter(jnp.tile(x, (n, 1)), "x", tiled=True)), rows)
compiled("exchange", on_each(lambda x: lax.all_to_all(jnp.tile(x[None], (n, 1, 1)), "x", 0, 0).sum(0)), rows)
compiled("both", on_each(lambda x: sum(y.sum() for y in lax.psum((x, x[:1, :3] * 2), "x")) + x), rows)
compiled("scan", on_each(lambda x: lax.scan(lambda c, _: (lax.psum(jnp.tanh(c), "x"), None), x, None, 5)[0]), rows)
compiled(
    "nested",
    on_each(lambda x: lax.fori_loop(0, 3, lambda i, a: lax.fori_loop(0, 7, lambda j, b: lax.psum(b * 0.1, "x"), a), x)),
    rows,
)
compiled(
    "choice",
    on_each(lambda x: lax.cond(x[0, 0] > 0, lambda x: lax.psum(x, "x"), lambda x: lax.psum(jnp.tile(x, (2, 1)), "x")[:4], x)),
    rows,
)
compiled("until", on_each(lambda x: lax.while_loop(lambda c: c.max() < 9, lambda c: lax.psum(c, "x"), x)), rows)
compiled("in_place", lambda x: x + 1, rows, donate_argnums=0)
if n == 8:
    grid = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def loss(x, up, down):
        return ((jnp.tanh(x @ up) @ down) ** 2).sum()

    given = (array(grid, P("data"), 24, 16), array(grid, P(None, "model"), 16, 32), array(grid, P("model"), 32, 16))
    compiled("megatron", jax.grad(loss, (0, 1, 2)), *given, out_shardings=tuple(a.sharding for a in given))
print(json.dumps([texts, plans]))
"""


@functools.cache
def compiled(devices: int) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        env=os.environ | flags,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    texts, plans = json.loads(done.stdout.splitlines()[-1])
    return texts, plans


def one(devices: int, name: str) -> CompiledCollective:
    (found,) = transfers(compiled(devices)[0][name])
    return found


PART = 4 * 16 * 4  # bytes of the rows that one device has


@pytest.mark.parametrize("devices", [7, 8])
@pytest.mark.parametrize(
    ("name", "kind", "size", "share"),
    [
        ("sum", "all-reduce", lambda n: 16 * 4, lambda n: 2 * (n - 1) / n),
        ("psum", "all-reduce", lambda n: PART, lambda n: 2 * (n - 1) / n),
        ("gather", "all-gather", lambda n: n * PART, lambda n: (n - 1) / n),
        ("scatter", "reduce-scatter", lambda n: n * PART, lambda n: (n - 1) / n),
        ("exchange", "all-to-all", lambda n: n * PART, lambda n: (n - 1) / n),
        ("permute", "collective-permute", lambda n: PART, lambda n: 1),
        ("both", "all-reduce", lambda n: PART + 3 * 4, lambda n: 2 * (n - 1) / n),
    ],
)
def test_collectives_of_known_size(devices, name, kind, size, share):
    found = one(devices, name)
    assert (found.kind, found.bytes, found.devices) == (kind, size(devices), devices)
    assert found.times == 1
    assert found.moved == pytest.approx(size(devices) * share(devices))


def test_the_source_is_the_name_of_the_operation():
    assert one(8, "psum").source.endswith("psum")


@pytest.mark.parametrize("devices", [7, 8])
def test_a_scan_runs_its_body_for_each_element(devices):
    found = one(devices, "scan")
    assert (found.bytes, found.times) == (PART, 5)
    assert found.moved == pytest.approx(5 * 2 * PART * (devices - 1) / devices)


def test_loops_in_loops_multiply():
    assert one(8, "nested").times == 21


def test_the_largest_branch_counts():
    assert one(8, "choice").bytes == 2 * PART


def test_a_loop_of_unknown_length_with_collectives_is_refused():
    with pytest.raises(ValueError, match="the trip count of a loop with collectives"):
        transfers(compiled(8)[0]["until"])


def test_a_tensor_parallel_layer_moves_what_the_formula_says():
    found = transfers(compiled(8)[0]["megatron"])
    size = {n: sum(t.bytes for t in found if t.devices == n and t.bytes > 4) for n in (2, 4)}
    activation, weight = 24 // 2 * 16 * 4, 16 * 32 // 4 * 4
    assert size[4] == 2 * activation  # one forward, one backward
    assert size[2] == 2 * weight  # one gradient for each of the two weights


def test_memory_is_that_of_one_device():
    plan = compiled(8)[1]["psum"]
    assert (plan["arguments"], plan["outputs"], plan["shared"]) == (PART, PART, 0)
    assert plan["peak"] == 2 * PART + plan["temporary"]
    donated = compiled(8)[1]["in_place"]
    assert donated["peak"] == PART + donated["temporary"]


def module(*lines: str, before: str = "", devices: int = 8) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule written, num_partitions={devices}\n\n{before}\nENTRY %main (x: f32[8]) -> f32[8] {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("groups", "members"),
    [
        ("{{0,1},{2,3},{4,5},{6,7}}", 2),
        ("{{0,1,2,3,4,5,6,7}}", 8),
        ("{}", 8),
        ("[4,2]<=[8]", 2),
        ("[2,4]<=[4,2]T(1,0)", 4),
        ("[1,8]<=[8]", 8),
        ("mesh['axis_0'=7,'axis_1'=1] {'axis_0'}", 7),
        ("mesh['axis_0'=2,'axis_1'=4] {'axis_0','axis_1'}", 8),
        ("mesh['axis_0'=1,'axis_1'=4,'axis_2'=2], device_ids=([2,2,2]T(0,2,1)) {'axis_1'}", 4),
        ("mesh['a'=8] {'a':(1)2}", 2),
    ],
)
def test_spellings_of_groups(groups, members):
    line = f"%r = f32[8]{{0}} all-reduce(%x), channel_id=1, replica_groups={groups}, use_global_device_ids=true, to_apply=%add"
    assert transfers(module(line, before=ADD))[0].devices == members


def test_an_unknown_spelling_is_refused():
    line = "%r = f32[8]{0} all-reduce(%x), replica_groups=round(8), to_apply=%add"
    with pytest.raises(ValueError, match="unknown notation"):
        transfers(module(line, before=ADD))


ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}
"""


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ("f32[]", 4),
        ("f16[3,5]{1,0}", 30),
        ("bf16[3,5]{1,0:T(8,128)(2,1)S(1)}", 30),
        ("f64[2]", 16),
        ("s8[7]", 7),
        ("s64[2]", 16),
        ("u16[2]", 4),
        ("u32[<=4]", 16),
        ("pred[9]", 9),
        ("c64[2]", 16),
        ("c128[2]", 32),
        ("f8e4m3fn[5]", 5),
        ("s4[3]", 2),
        ("f32[0,3]", 0),
        ("(f32[2]{0}, bf16[3]{0:T(256)}, /*index=2*/s32[])", 18),
    ],
)
def test_sizes_of_types(type_, size):
    (found,) = transfers(module(f"%r = {type_} all-reduce(%x), replica_groups={{}}, to_apply=%add"))
    assert found.bytes == size


def test_a_dtype_of_unknown_size_is_refused():
    with pytest.raises(ValueError, match="unknown size"):
        transfers(module("%r = q17[8] all-reduce(%x), replica_groups={}"))


@pytest.mark.parametrize(
    ("start", "done", "kind", "size"),
    [
        ("f32[8]{0} all-reduce-start", "all-reduce-done", "all-reduce", 32),
        ("(f32[8]{0}, f32[4]{0}) all-reduce-start", "all-reduce-done", "all-reduce", 48),
        ("(f32[8]{0}, f32[64]{0}) all-gather-start", "all-gather-done", "all-gather", 256),
        (
            "((f32[8], s8[1]), (f32[64], s8[8])) all-gather-start",
            "all-gather-done",
            "all-gather",
            264,
        ),
        (
            "(f32[8], f32[8], u32[], u32[]) collective-permute-start",
            "collective-permute-done",
            "collective-permute",
            32,
        ),
        (
            "((f32[8]{0}), f32[1]{0}, u32[]) reduce-scatter-start",
            "reduce-scatter-done",
            "reduce-scatter",
            32,
        ),
        ("((f32[8]{0}), f32[8]{0}, u32[]) all-to-all-start", "all-to-all-done", "all-to-all", 32),
    ],
)
def test_a_started_and_awaited_collective_counts_once(start, done, kind, size):
    text = module(
        f"%s = {start}(%x), replica_groups={{}}, to_apply=%add",
        f"ROOT %d = f32[8] {done}(%s)",
        before=ADD,
    )
    (found,) = transfers(text)
    assert (found.kind, found.bytes, found.devices) == (kind, size, 8)


WRAPPED = """%wrapped (a: f32[8]) -> f32[1] {
  %a = f32[8] parameter(0)
  ROOT %r = f32[1] reduce-scatter(%a), replica_groups=[2,4]<=[8], dimensions={0}, to_apply=%add, metadata={op_name="f/sum"}
}
"""


def test_a_wrapped_asynchronous_collective_counts_once():
    text = module(
        "%s = ((f32[8]), f32[1], u32[]) async-start(%x), calls=%wrapped",
        "%u = ((f32[8]), f32[1], u32[]) async-update(%s), calls=%wrapped",
        "ROOT %d = f32[1] async-done(%u), calls=%wrapped",
        before=ADD + WRAPPED,
    )
    assert transfers(text) == (CompiledCollective("reduce-scatter", 16, 4, 1, "f/sum"),)


@pytest.mark.parametrize(
    "call",
    [
        "fusion(%x), kind=kLoop, calls=%wrapped",
        "call(%x), to_apply=%wrapped",
        "custom-call(%x), called_computations={%wrapped}",
    ],
)
def test_called_computations_count_each_time(call):
    text = module(f"%a = f32[1] {call}", f"%b = f32[1] {call}", before=ADD + WRAPPED)
    assert len(transfers(text)) == 2


def test_the_two_sides_of_an_old_conditional():
    text = module(
        "%a = f32[1] conditional(%p, %x, %x), true_computation=%wrapped, false_computation=%add",
        before=ADD + WRAPPED,
    )
    assert len(transfers(text)) == 1


LOOP = """%body (t: (s32[], f32[8])) -> (s32[], f32[8]) {{
  %r = f32[8] all-reduce(%g), replica_groups={{}}, to_apply=%add
}}

%test (t: (s32[], f32[8])) -> pred[] {{
  %limit = s32[] constant(12)
  %i = s32[] get-tuple-element(%t), index=0
  ROOT %less = pred[] compare(%i, %limit), direction={direction}
}}
"""


@pytest.mark.parametrize(("direction", "times"), [("LT", 12), ("LE", 13)])
def test_a_loop_without_a_noted_length_is_as_long_as_its_limit(direction, times):
    text = module(
        "%w = (s32[], f32[8]) while(%t), condition=%test, body=%body",
        before=ADD + LOOP.format(direction=direction),
    )
    assert [t.times for t in transfers(text)] == [times]


def test_a_loop_that_counts_down_is_refused():
    text = module(
        "%w = (s32[], f32[8]) while(%t), condition=%test, body=%body",
        before=ADD + LOOP.format(direction="GT"),
    )
    with pytest.raises(ValueError, match="trip count"):
        transfers(text)


def test_names_of_operands_and_sources_are_not_collectives():
    text = module(
        '%all-reduce.3 = f32[8] copy(%all-reduce), metadata={op_name="my all-reduce(x)"}',
        "ROOT %t = (f32[8]) tuple(%all-gather.1)",
    )
    assert transfers(text) == ()
    assert moved_bytes(text) == 0


def test_collectives_that_are_not_counted_are_refused():
    with pytest.raises(NotImplementedError, match="ragged-all-to-all is not counted"):
        transfers(module("%r = f32[8] ragged-all-to-all(%x), replica_groups={}"))


def test_text_that_is_no_program_is_refused():
    with pytest.raises(ValueError, match="no compiled program"):
        transfers("module @jit_f {\n}\n")


def test_ten_megabytes_are_read_in_seconds():
    line = '%f = f32[4,16]{1,0} fusion(%x, %y), kind=kLoop, calls=%add, metadata={op_name="jit(step)/layer/mul"}'
    text = module(*[line] * 90_000, before=ADD)
    assert len(text) > 9_000_000
    start = time.perf_counter()
    transfers(text)
    assert time.perf_counter() - start < 5
