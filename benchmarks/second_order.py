"""THOR beside tuned momentum, AdamW and Muon: steps and seconds until a score is reached.

`python benchmarks/second_order.py --data FOLDER` (the gzipped files of Fashion-MNIST are in FOLDER)
tunes the learning rate of each optimizer on each task with the same number of tries on one seed,
then runs the best rate on three other seeds, and prints a table. `--plot FILE` draws the curves.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from second_order_tasks import TASKS, Task, graph_mode

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.experimental import optim

Run = dict[str, Any]


def momentum(network: nn.Cell, rate: float, task: Task) -> nn.Cell:
    return nn.Momentum(network.trainable_params(), rate, 0.9)


def adamw(network: nn.Cell, rate: float, task: Task) -> nn.Cell:
    return nn.AdamWeightDecay(network.trainable_params(), rate, weight_decay=0.0)


def muon(network: nn.Cell, rate: float, task: Task) -> nn.Cell:
    """Its other parameters follow AdamW, at a tenth of the rate."""
    named = ("token", "place", "head")
    params = network.trainable_params()
    return optim.Muon(params, lr=rate, adamw_lr=rate / 10, adamw_names=named)


def thor(network: nn.Cell, rate: float, task: Task) -> nn.Cell:
    return nn.thor(network, rate, task.damping, 0.9, frequency=FREQUENCY, sampling=SAMPLING)


FREQUENCY, SAMPLING = 50, 10
OPTIMIZERS: dict[str, tuple[Callable[[nn.Cell, float, Task], nn.Cell], tuple[float, ...]]] = {
    "momentum": (momentum, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)),
    "AdamW": (adamw, (0.0003, 0.0007, 0.0015, 0.003, 0.006, 0.012)),
    "Muon": (muon, (0.003, 0.01, 0.02, 0.05, 0.1, 0.2)),
    "THOR": (thor, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)),
}
TUNING_SEED, SEEDS = 100, (1, 2, 3)


def main() -> None:
    options = arguments()
    graph_mode()
    found: dict[str, Any] = {}
    for name in options.tasks:
        task = TASKS[name](Path(options.data))
        found[name] = {"title": task.title, "target": task.target, "unit": task.unit}
        for optimizer in options.optimizers:
            rate = tuned(task, optimizer)
            runs = [train(task, optimizer, rate, seed) for seed in SEEDS]
            found[name][optimizer] = {"rate": rate, "runs": runs}
            print(name, optimizer, rate, [run["steps"] for run in runs], flush=True)
    print_table(found, options.optimizers)
    if options.out:
        Path(options.out).write_text(json.dumps(found))
    if options.plot:
        plot(found, Path(options.plot))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with the files of Fashion-MNIST")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument(
        "--optimizers", nargs="*", default=list(OPTIMIZERS), choices=list(OPTIMIZERS)
    )
    parser.add_argument("--out", help="a JSON file for all curves")
    parser.add_argument("--plot", help="an SVG or PNG file for the curves (needs matplotlib)")
    return parser.parse_args()


def tuned(task: Task, optimizer: str) -> float:
    """The rate that reaches the target first, or else comes nearest to it.

    A try ends where an earlier one was faster.
    """
    share = task.momentum_share if optimizer == "momentum" else 1.0
    rates = [rate * share for rate in OPTIMIZERS[optimizer][1]]
    best, best_rate = (task.limit, float("inf")), rates[0]
    for rate in rates:
        run = train(task, optimizer, rate, TUNING_SEED, best[0])
        found = (run["steps"] or task.limit, min(run["scores"]))
        print(f"  {optimizer} {rate:g}: {run['steps']} steps, best {found[1]:.4f}", flush=True)
        if found < best:
            best, best_rate = found, rate
    return best_rate


def train(task: Task, optimizer: str, rate: float, seed: int, limit: int | None = None) -> Run:
    """Train until the held-out score is reached; only the training steps are timed."""
    ms.set_seed(seed)
    network = task.make_network()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(network, task.loss), OPTIMIZERS[optimizer][0](network, rate, task)
    ).set_train()
    batches = task.batches(seed)
    step(*next(batches))  # compiles; one step of all alike is not counted in the time
    seconds, at, scores = 0.0, [], []
    for count in range(2, (limit or task.limit) + 1):
        batch = next(batches)
        begin = time.perf_counter()
        loss = step(*batch)
        if count % task.check_every == 0:
            loss.asnumpy()
        seconds += time.perf_counter() - begin
        if count % task.check_every:
            continue
        at.append(count)
        scores.append(scored(task, network))
        if scores[-1] <= task.target:
            return {"steps": count, "seconds": seconds, "at": at, "scores": scores}
        if not np.isfinite(scores[-1]):
            break
    return {"steps": None, "seconds": seconds, "at": at, "scores": scores}


def scored(task: Task, network: nn.Cell) -> float:
    network.set_train(False)
    outputs = network(Tensor(task.held_inputs)).asnumpy()
    network.set_train(True)
    return task.score(outputs, task.held_labels)


def print_table(found: dict[str, Any], optimizers: list[str]) -> None:
    heads = ("task", "target", "optimizer", "rate", "steps (3 seeds)", "median", "to momentum")
    print("| " + " | ".join((*heads, "seconds", "to momentum")) + " |")
    print("|---" * 9 + "|")
    for task in found.values():
        base = summary(task["momentum"]["runs"]) if "momentum" in task else (None, None)
        for name in optimizers:
            steps, seconds = summary(task[name]["runs"])
            each = ", ".join(str(run["steps"] or "-") for run in task[name]["runs"])
            print(
                f"| {task['title']} | {task['unit']} {task['target']} | {name} "
                f"| {task[name]['rate']:g} | {each} | {steps or '-'} | {ratio(steps, base[0])} "
                f"| {seconds:.1f} | {ratio(seconds if steps else None, base[1])} |"
            )


def summary(runs: list[Run]) -> tuple[float | None, float]:
    """The median steps (None if most runs did not arrive) and the median seconds of those."""
    middle = median(run["steps"] or float("inf") for run in runs)
    arrived = [run["seconds"] for run in runs if run["steps"]]
    return (middle if middle < float("inf") else None), median(arrived or [float("nan")])


def ratio(value: float | None, base: float | None) -> str:
    return "-" if value is None or base is None else f"{value / base:.2f}"


def plot(found: dict[str, Any], path: Path) -> None:
    """One panel for each task: the score of each seed by steps."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(5 * len(found), 3.8), squeeze=False)
    for panel, task in zip(panels[0], found.values(), strict=True):
        for place, name in enumerate(n for n in OPTIMIZERS if n in task):
            for number, run in enumerate(task[name]["runs"]):
                panel.plot(
                    run["at"], run["scores"], color=f"C{place}", alpha=0.8,
                    label=name if number == 0 else None,
                )  # fmt: skip
        panel.axhline(task["target"], color="black", linewidth=0.6, linestyle="--")
        panel.set(title=task["title"], xlabel="steps", ylabel=f"held-out {task['unit']}")
        panel.set_ylim(task["target"] * 0.95, task["target"] * 1.8)
        panel.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
