"""The look of a report: its style in light, dark, on paper and on a phone, and its tables."""

import html
from collections.abc import Sequence
from math import floor

STYLE = """
:root { color-scheme: light dark; --ink: #1c2730; --paper: #ffffff; --soft: #eef6f7; --line: #d5dde2; --head: #f5f8f9;
  --quiet: #52616b; --accent: #1b6d7d; --bar: #1b6d7d; --pale: #b9d3d8; --warm: #d1751f; --third: #6b8e23;
  --fourth: #7a5195; --fifth: #5b6b75; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4ebef; --paper: #12191e; --soft: #1b2a30; --line: #34444d;
  --head: #1a242a; --quiet: #a3b2bb; --accent: #6cc3d5; --bar: #4fb3c6; --pale: #35525a; --warm: #f0a05a;
  --third: #a5c95a; --fourth: #b691d2; --fifth: #93a5b0; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 0 0 .3rem; font-size: 1rem; color: var(--accent); }
a { color: var(--accent); }
.use { background: var(--soft); border-left: 6px solid var(--accent); padding: .8rem 1.2rem; font-size: 1.2rem; }
.use p { margin: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: .8rem; margin: .8rem 0; }
.card { background: var(--soft); padding: .8rem 1rem; border-radius: .3rem; } .card p { margin: .3rem 0; }
.warning { border-left: 6px solid var(--warm); }
.quiet, figcaption { color: var(--quiet); font-size: .9rem; }
.wide { overflow-x: auto; } .wide svg { width: 44rem; min-width: 34rem; max-width: 100%; height: auto; display: block; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .85rem; min-width: 100%; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child, th.long { text-align: left; } th { vertical-align: bottom; } th { background: var(--head); }
td { white-space: nowrap; } td.long { white-space: normal; min-width: 10rem; text-align: left; }
figure { margin: 1rem 0; } figcaption a { margin-right: .6rem; }
@media (max-width: 30rem) { body { margin: 1rem auto; } h1 { font-size: 1.5rem; } .use { font-size: 1.05rem; }
  td:first-child { white-space: normal; min-width: 7rem; } }
@media print { :root { --paper: #ffffff; --ink: #1c2730; } body { max-width: none; } h2 { break-after: avoid; }
  figure, table, .card { break-inside: avoid; } }
"""


def page(body: Sequence[str], title: str = "Gossamer study") -> str:
    """A whole HTML page that opens offline."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style><body>{''.join(body)}</body></html>"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], long: Sequence[int] = ()) -> str:
    """A table that scrolls sideways where the screen is narrow; the columns `long` hold sentences."""
    kinds = [' class="long"' if place in long else "" for place in range(len(head))]
    top = "".join(f"<th{kind}>{html.escape(name)}</th>" for kind, name in zip(kinds, head, strict=True))
    first = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    lines = (
        "<tr>" + "".join(f"<td{kind}>{html.escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    body = "".join(lines)
    return f'<div class="wide"><table>{first}<tbody>{body}</tbody></table></div>'


def percent(share: float) -> str:
    """A share in percent, rounded down, so that 100% means that nothing is missing."""
    return f"{floor(share * 10_000 + 1e-6) / 10_000:.2%}"


def paragraphs(sentences: Sequence[str]) -> str:
    """One paragraph for each sentence, which is HTML already."""
    return "".join(f"<p>{sentence}</p>" for sentence in sentences)


def card(title: str, sentences: Sequence[str], is_warning: bool = False) -> str:
    """A titled box of the first page; nothing if there are no sentences."""
    if not sentences:
        return ""
    kind = "card warning" if is_warning else "card"
    return f'<div class="{kind}"><h3>{title}</h3>{paragraphs(sentences)}</div>'
