"""Building blocks of self-contained HTML pages: the page frame, legends, SVG."""

from __future__ import annotations

from html import escape

_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --fore: #1d2430; --dim: #667085;
  --line: #d5dae2; --panel: #f6f7f9; --link: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --back: #14181f; --fore: #e4e8ee; --dim: #98a2b3;
  --line: #343c49; --panel: #1c222b; --link: #7fb0ff; } }
body { background: var(--back); color: var(--fore); margin: 2rem auto; max-width: 1200px;
  padding: 0 1rem; font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
a { color: var(--link); } code, pre, td.code, svg text { font-family: ui-monospace, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; }
dt { color: var(--dim); } dd { margin: 0; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--fore); font-size: 12px; }
svg text.dim { fill: var(--dim); } svg .edge { stroke: var(--dim); }
svg .frame { fill: none; stroke: var(--dim); stroke-dasharray: 4 3; }
.scroll { max-height: 80vh; overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { position: sticky; top: 0; background: var(--panel); text-align: left; white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--link); }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
tr:target { outline: 2px solid var(--link); }
td .source { display: block; color: var(--dim); white-space: pre-wrap; }
.costs li { margin-bottom: .6rem; } .costs pre { margin: .2rem 0; padding: .4rem .6rem;
  background: var(--panel); border-radius: 4px; overflow-x: auto; }
.tools { display: flex; gap: 1rem; align-items: center; margin: .6rem 0; flex-wrap: wrap; }
input[type=search] { font: inherit; padding: .3rem .5rem; width: 22rem; max-width: 100%; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1rem; font-size: 13px; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem;
  border-radius: 2px; vertical-align: -1px; }
"""


def framed(title: str, body: str, script: str = "") -> str:
    """A complete page around `body`, in the light or dark theme of the reader's system."""
    tail = f"<script>{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body}\n{tail}</body>\n</html>\n"
    )


def named_values(values: list[tuple[str, str]]) -> str:
    """A definition list of names and texts."""
    inner = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in values)
    return f"<dl>{inner}</dl>"


def legend(colors: dict[str, str]) -> str:
    """A legend of colors."""
    inner = "".join(
        f'<span><i style="background:{color}"></i>{escape(name)}</span>'
        for name, color in colors.items()
    )
    return f'<div class="legend">{inner}</div>'


def svg(width: float, height: float, label: str, parts: list[str]) -> str:
    """An SVG image of a given size in pixels."""
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">\n<title>{escape(label)}</title>\n{inner}\n</svg>'
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """An SVG text element."""
    class_ = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{class_}>{escape(words)}</text>'
