"""Every Python block of the guides and the README runs, in order, in one namespace a page."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text())
    assert blocks, f"{page.name} has no Python code"
    namespace: dict[str, object] = {"__name__": page.stem}
    for number, block in enumerate(blocks):
        name = f"<{page.name} {number}>"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        exec(compile(block, name, "exec"), namespace)
