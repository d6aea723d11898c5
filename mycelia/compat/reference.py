"""Generator of docs/api: one line per public name of MindSpore, and Mycelia's support for it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from mycelia.compat.coverage_report import ABSENT, SERVED, Coverage, NameStatus, coverage, resolve

INDEX = "README.md"
_PAGES = (  # pages that cover more than their own module, by module prefix
    "mindspore.dataset.vision",
    "mindspore.dataset.audio",
    "mindspore.dataset",
    "mindspore.mint",
    "mindspore.nn.probability",
    "mindspore.nn",
    "mindspore.numpy",
    "mindspore.ops",
    "mindspore.Tensor",
    "mindspore.train",
    "mindspore.scipy",
    "mindspore.experimental",
    "mindspore.communication",
    "mindspore.parallel",
    "mindspore.mindrecord",
    "mindspore.runtime",
    "mindspore.device_context",
    "mindspore",
)

_HEAD = (
    "# Names",
    "",
    "MindSpore's public names and what is here for them, written by `scripts/write_api_reference`; "
    "`mycelia.coverage()` says the same at run time.",
    "",
    "A name is served if the module alias finds it and calls that fit MindSpore's signature fit "
    "ours; it is tested if a test calls it and checks its result.",
    "",
)


def pages() -> dict[str, str]:
    """Text of each page, by file name."""
    report = coverage()
    by_page: dict[str, list[NameStatus]] = {}
    for status in report.states:
        by_page.setdefault(_page(status.name.module), []).append(status)
    texts = {f"{page}.md": _text(page, states) for page, states in sorted(by_page.items())}
    return {INDEX: _index(report, by_page)} | texts


def _page(module: str) -> str:
    return next(p for p in _PAGES if module == p or module.startswith(p + "."))


def _index(report: Coverage, by_page: dict[str, list[NameStatus]]) -> str:
    lines = [*_HEAD, "| page | names | served | tested |", "|---|---:|---:|---:|"]
    for page, states in sorted(by_page.items()):
        lines.append(f"| [{page}]({page}.md) | {_counts(states)} |")
    return "\n".join([*lines, f"| **all** | {_counts(report.states)} |", ""])


def _counts(states: Iterable[NameStatus]) -> str:
    listed = list(states)
    served = [s for s in listed if s.state == SERVED]
    return f"{len(listed)} | {len(served)} | {sum(s.tested for s in served)}"


def _text(page: str, states: list[NameStatus]) -> str:
    lines = [f"# {page}", "", "| name | here | what |", "|---|---|---|"]
    for status in sorted(states, key=lambda s: s.name.path.lower()):
        lines.append(f"| `{status.name.path}` | {_here(status)} | {_summary(status)} |")
    return "\n".join([*lines, ""])


def _here(status: NameStatus) -> str:
    if status.state == SERVED:
        return "tested" if status.tested else "yes"
    return "-" if status.state == ABSENT else f"differs: {status.difference}".replace("|", "\\|")


def _summary(status: NameStatus) -> str:
    """First sentence of Mycelia's docstring."""
    if status.state == ABSENT:
        return ""
    paths = (status.name.path, *status.name.aliases)
    value = next(f for f in map(resolve, paths) if f is not None)
    text = inspect.getdoc(value) if callable(value) and not _is_plain(value) else None
    first = (text or "").strip().splitlines()[0] if text else ""
    return re.sub(r"([|\\])", r"\\\1", first)


def _is_plain(value: object) -> bool:
    """Whether an object has only the docstring of its class, such as a dtype."""
    return not (inspect.isclass(value) or inspect.isroutine(value))
