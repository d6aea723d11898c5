"""Plans of automatic parallelism: against the optimum, against layouts made by hand, and in time.

    python benchmarks/parallel_plans.py quality     dynamic programming, recursion / integer program
    python benchmarks/parallel_plans.py hand        bytes and memory of compiled programs / by hand
    python benchmarks/parallel_plans.py seconds     of the search: deeper networks, more devices
    python benchmarks/parallel_plans.py sharing     memory of optimizer levels against the formula
    python benchmarks/parallel_plans.py recompute   memory with cells that are run again

Everything runs on 8 virtual devices of this machine; larger clusters are only described. Bytes and
memory are read from the compiled programs, so they do not depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

DEVICES = 8
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    " --xla_backend_optimization_level=0 --xla_cpu_enable_concurrency_optimized_scheduler=false"
)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

import mycelia as ms  # noqa: E402
from mycelia import nn, ops  # noqa: E402
from mycelia._engine.compiler.sharding import integer_program, search  # noqa: E402
from mycelia._engine.compiler.sharding.cost_model import CostModel  # noqa: E402
from mycelia._engine.compiler.sharding.exact_elimination import eliminate  # noqa: E402
from mycelia._engine.compiler.sharding.problem import build_problem  # noqa: E402
from mycelia._engine.compiler.sharding.strategies import SearchConstraints  # noqa: E402
from mycelia._engine.distributed.cluster import KNOWN, Cluster  # noqa: E402
from mycelia._engine.distributed.mesh import Mesh  # noqa: E402
from mycelia._engine.runtime.xla.collective_traffic import moved_bytes  # noqa: E402
from mycelia._engine.runtime.xla.memory_plan import memory_plan  # noqa: E402
from mycelia.transforms.show import trace_for  # noqa: E402
from tests.parallel.networks import NETWORKS  # noqa: E402


class Linear(nn.Cell):
    """A product and a sum, as operators that can be told how to be cut."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = ms.Parameter(ms.Tensor(_random(inputs, outputs)), name="weight")
        self.bias = ms.Parameter(ms.Tensor(np.zeros(outputs, np.float32)), name="bias")
        self.matmul, self.add = ops.MatMul(), ops.Add()

    def construct(self, x: Any) -> Any:
        return self.add(self.matmul(x, self.weight), self.bias)


class Block(nn.Cell):
    """A layer of a transformer; rows of `x` are tokens."""

    def __init__(self, width: int, heads: int, tokens: int) -> None:
        super().__init__()
        self.width, self.heads, self.tokens = width, heads, tokens
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.query, self.key, self.value = (Linear(width, width) for _ in range(3))
        self.out, self.up = Linear(width, width), Linear(width, 4 * width)
        self.down, self.gelu = Linear(4 * width, width), nn.GELU()
        self.scores, self.mixed = ops.BatchMatMul(transpose_b=True), ops.BatchMatMul()
        self.softmax = ops.Softmax()

    def split(self, x: Any) -> Any:
        x = ops.reshape(x, (-1, self.tokens, self.heads, self.width // self.heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def construct(self, x: Any) -> Any:
        h = self.norm1(x)
        query, key = self.split(self.query(h)), self.split(self.key(h))
        scores = self.softmax(self.scores(query, key) / (self.width // self.heads) ** 0.5)
        mixed = ops.transpose(self.mixed(scores, self.split(self.value(h))), (0, 2, 1, 3))
        x = x + self.out(ops.reshape(mixed, (-1, self.width)))
        return x + self.down(self.gelu(self.up(self.norm2(x))))

    def as_megatron(self, data: int, model: int) -> None:
        """Columns of the first products, rows of the second, as in Megatron-LM."""
        for layer in (self.query, self.key, self.value, self.up):
            layer.matmul.shard(((data, 1), (1, model)))
        for layer in (self.out, self.down):
            layer.matmul.shard(((data, model), (model, 1)))
        self.scores.shard(((data, model, 1, 1), (data, model, 1, 1)))
        self.mixed.shard(((data, model, 1, 1), (data, model, 1, 1)))


class Transformer(nn.Cell):
    """Layers on given embeddings, and a squared loss: all work is in the layers."""

    def __init__(self, layers: int, width: int, heads: int, tokens: int) -> None:
        super().__init__()
        self.blocks = nn.CellList([Block(width, heads, tokens) for _ in range(layers)])

    def construct(self, x: Any, y: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return ((x - y) ** 2).mean()


@dataclass(frozen=True)
class Case:
    """A training step and its batch."""

    step: Any
    batch: tuple[Any, ...]
    network: Any


def transformer(layers: int, width: int, heads: int, batch: int, tokens: int) -> Case:
    network = Transformer(layers, width, heads, tokens)
    rows = ms.Tensor(np.zeros((batch * tokens, width), np.float32))
    step = nn.TrainOneStepCell(network, nn.Adam(network.trainable_params(), 1e-3))
    return Case(step, (rows, rows), network)


def known(name: str) -> Case:
    training = NETWORKS[name]
    network = training.network()
    step = nn.TrainOneStepCell(network, training.optimizer(network)).set_train()
    return Case(step, training.batch(0), network)


# ---- the measurements ----------------------------------------------------------------------------


def quality() -> None:
    """Each search against the integer program, on the same table."""
    print(
        f"{'network':12} {'cluster':7} {'mesh':6} {'optimum ms':>11} {'dynamic':>8} "
        f"{'recursive':>9} {'s':>7} {'s':>6} {'s':>6}"
    )
    cases = [("transformer4", transformer(4, 256, 8, 16, 64))]
    cases += [(n, known(n)) for n in ("mlp", "resnet", "bert", "gpt", "moe", "recommender")]
    for name, case in cases:
        problem = build_problem(trace_for(case.step, case.batch).read.program)
        for cluster in (Cluster(), KNOWN["a100"]):
            for mesh in (Mesh((8,)), Mesh((4, 2))):
                prices = CostModel(mesh, cluster.with_devices(DEVICES))
                table = search.full_table(problem.works, SearchConstraints(), prices, shared=False)
                optimum, exact = _timed(
                    lambda t=table: integer_program.solve_integer_program(t.choices, 120)
                )
                chosen, dynamic = _timed(lambda t=table: eliminate(t.choices))
                ratio = table.choices.total(chosen) / optimum.cost
                found, recursive = _timed(
                    lambda w=problem.works, p=prices: search.recursive_programming(
                        w, SearchConstraints(), p
                    )
                )
                print(
                    f"{name:12} {cluster.name:7} {mesh!s:6} {optimum.cost * 1e3:11.4f} "
                    f"{ratio:8.4f} {found.cost / optimum.cost:9.4f} {exact:7.1f} {dynamic:6.2f} "
                    f"{recursive:6.2f}",
                    flush=True,
                )


def hand() -> None:
    """The compiled programs of automatic plans against those laid out by hand."""
    print(f"{'network':28} {'layout':22} {'MB sent':>9} {'predicted':>10} {'MB memory':>10}")
    sizes = (4, 512, 8, 8, 128)
    for data, model in ((1, 8), (2, 4), (4, 2)):
        case = transformer(*sizes)
        for block in case.network.blocks:
            block.as_megatron(data, model)
        _compiled("transformer 4 x 512", case, f"Megatron {data} x {model}", "semi_auto_parallel")
    for way in ("recursive_programming", "dynamic_programming"):
        _compiled("transformer 4 x 512", transformer(*sizes), way, "auto_parallel", way)
    _compiled("resnet-18", known("resnet"), "data parallel", "data_parallel")
    for way in ("recursive_programming", "dynamic_programming"):
        _compiled("resnet-18", known("resnet"), way, "auto_parallel", way)


def seconds() -> None:
    """How long the search takes for deeper networks and larger clusters."""
    print(
        f"{'layers':>6} {'devices':>8} {'works':>7} {'read s':>8} {'recursive s':>12} "
        f"{'dynamic s':>10}"
    )
    for layers, devices in ((12, 8), (24, 8), (48, 8), (96, 8), (96, 1024)):
        case = transformer(layers, 512, 16, 1024 if devices > 8 else 64, 128)
        reading, read = _timed(lambda c=case: trace_for(c.step, c.batch))
        times = []
        for way in ("recursive_programming", "dynamic_programming"):
            cluster = KNOWN["a100"].with_devices(devices)
            _, spent = _timed(lambda c=cluster, w=way, r=reading: _planned(r.read.program, c, w))
            times.append(spent)
        works = len(build_problem(reading.read.program).works)
        print(
            f"{layers:6} {devices:8} {works:7} {read:8.2f} {times[0]:12.2f} {times[1]:10.2f}",
            flush=True,
        )


def sharing() -> None:
    """Bytes of a program's arguments on each device for each level of optimizer parallelism."""
    print(f"{'level':>5} {'MB arguments':>13} {'formula':>9} {'ratio':>7}")
    for level in range(4):
        case = transformer(2, 256, 8, 16, 32)
        ms.set_auto_parallel_context(
            enable_parallel_optimizer=level > 0,
            parallel_optimizer_config={
                "optimizer_level": f"level{max(level, 1)}",
                "parallel_optimizer_threshold": 0,
            },
        )
        compiled = _compile(case, "data_parallel")
        weights = sum(p.size * 4 for p in case.network.trainable_params())
        batch = sum(t.size * 4 for t in case.batch) / DEVICES
        parts = {0: 3.0, 1: 1 + 2 / DEVICES, 2: 1 + 2 / DEVICES, 3: 3 / DEVICES}
        formula = weights * parts[level] + batch
        found = memory_plan(compiled).arguments
        print(f"{level:5} {found / 1e6:13.4f} {formula / 1e6:9.4f} {found / formula:7.4f}")


def recompute() -> None:
    """Memory of a step with and without layers that are run again in the backward pass.

    A layer more needs its weights and two moments. Run again, it needs its input until then, its
    gradients after that; at the peak all layers need the larger of both.
    """
    print(f"{'layers':>6} {'MB kept':>9} {'MB again':>9} {'a layer':>9} {'theory':>9}")
    width, batch, tokens = 128, 64, 64
    before: tuple[int, float] | None = None
    for layers in (2, 4, 8, 16):
        found = []
        for again in (False, True):
            case = transformer(layers, width, 8, batch, tokens)
            for block in case.network.blocks if again else ():
                block.recompute()
            found.append(memory_plan(_compile(case, "data_parallel")).peak / 1e6)
        weights = sum(p.size * 4 for p in case.network.trainable_params()) / layers / 1e6
        rows = batch * tokens * width * 4 / DEVICES / 1e6
        line = f"{layers:6} {found[0]:9.1f} {found[1]:9.1f}"
        if before is not None:
            each = (found[1] - before[1]) / (layers - before[0])
            line += f" {each:9.3f} {3 * weights + max(weights, rows):9.3f}"
        print(line, flush=True)
        before = layers, found[1]


def _planned(program: Any, cluster: Cluster, way: str) -> Any:
    from mycelia._engine.compiler.sharding.planner import plan
    from mycelia._engine.compiler.sharding.request import PlanRequest

    return plan(program, PlanRequest("auto_parallel", cluster, way))


def _compile(case: Case, mode: str, way: str = "recursive_programming") -> Any:
    """The executable of a step, compiled and not run."""
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_auto_parallel_context(parallel_mode=mode, search_mode=way, full_batch=True)
    entry = case.step._compiled().entry(case.batch, {})
    return entry.executable._lowered_for(list(case.batch)).compile()


def _compiled(name: str, case: Case, title: str, mode: str, way: str = "") -> None:
    compiled = _compile(case, mode, way or "recursive_programming")
    (plan,) = ms.parallel.plans_of(case.step)
    sent = moved_bytes(compiled.as_text())
    print(
        f"{name:28} {title:22} {sent / 1e6:9.3f} {plan.moved / sent:10.4f} "
        f"{memory_plan(compiled).peak / 1e6:10.2f}  mesh {'x'.join(map(str, plan.mesh))}",
        flush=True,
    )


def _timed(run: Any) -> tuple[Any, float]:
    started = perf_counter()
    found = run()
    return found, perf_counter() - started


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape, scale=0.02).astype(np.float32)


MEASUREMENTS = {f.__name__: f for f in (quality, hand, seconds, sharing, recompute)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=[*MEASUREMENTS, []], help="all if left out")
    for what in parser.parse_args().what or MEASUREMENTS:
        print(f"\n{what}: {MEASUREMENTS[what].__doc__}")
        MEASUREMENTS[what]()
