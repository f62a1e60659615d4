"""The one writer of HTML: tables, and self-contained pages, in which no value is markup."""

from collections.abc import Iterable
from html import escape
from typing import Final

from perfarray.results.printed import CHANGED, Grid
from perfarray.timings.notes import escape_controls

# Nothing is fetched.
POLICY: Final = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)

STYLE: Final = """
:root { color-scheme: light; --line: #d8dee4; --quiet: #57606a }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem;
  color: #1f2328; overflow-wrap: anywhere }
h1 { font-size: 1.7rem }
h2 { font-size: 1.25rem; margin-top: 2rem; border-bottom: 1px solid var(--line) }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; font-weight: 400; white-space: nowrap;
  border-bottom: 1px solid var(--line) }
.right { text-align: right }
thead th button { all: unset; cursor: pointer; font-weight: 600 }
thead th button:focus-visible { outline: 2px solid #0072B2 }
.faster { color: #00704f; font-weight: 600 } .slower { color: #b04400; font-weight: 600 }
.note { color: var(--quiet); border-left: 3px solid var(--line); padding-left: .8rem;
  margin: .4rem 0 }
pre { overflow-x: auto; background: #f6f8fa; padding: .8rem } summary { cursor: pointer }
@media (min-width: 601px) { img { max-width: 100%; height: auto } }
@media screen and (max-width: 600px) {
  .sortable, .sortable :is(tbody, tr, td, tbody th) { display: block; text-align: left }
  .sortable thead { display: none }
  .sortable tr { padding: .5rem 0; border-bottom: 1px solid var(--line) }
  .sortable :is(td, tbody th) { border: 0; padding: 0; white-space: normal }
  .sortable [data-title]::before { content: attr(data-title) " "; color: var(--quiet) }
  .sortable :empty { display: none } }
@media print { details:not([open]) { display: none } h2 { break-after: avoid }
  tr, img { break-inside: avoid } body { max-width: none } .wide { overflow: visible }
  img { max-width: 100%; max-height: 24cm } table { font-size: .75rem }
  th, td { white-space: normal; overflow-wrap: break-word } h2 + p { break-after: avoid }
  pre { white-space: pre-wrap } }
"""

SCRIPT: Final = r"""
const sizes = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600};
const pattern = /(-?[0-9.]+(?:e[-+]?[0-9]+)?)(x faster)?(?: (ns|us|ms|s|min|h)\b)? ?/gy;
const number = text => {
  if (text === "" || text === "-") return null;
  if (text.startsWith("unchanged")) return 0;
  const parts = [...text.replace(/^< /, "").matchAll(pattern)];
  const value = part => parseFloat(part[1]) * (part[2] ? -1 : sizes[part[3]] ?? 1);
  return parts.length ? parts.reduce((sum, part) => sum + value(part), 0) : NaN;
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], given = [...body.rows];
  const last = given.filter(row => row.className), rest = given.filter(row => !row.className);
  table.querySelectorAll("thead th").forEach((head, place) => {
    const button = document.createElement("button");
    button.append(...head.childNodes); head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = row => row.cells[place].textContent;
      const numeric = rest.every(row => !Number.isNaN(number(text(row))));
      const order = (first, second) =>
        numeric ? number(first) - number(second) : first.localeCompare(second);
      const known = rest.filter(row => !numeric || number(text(row)) !== null);
      const unknown = rest.filter(row => !known.includes(row));
      known.sort((first, second) => (down ? -1 : 1) * order(text(first), text(second)));
      body.append(...known, ...unknown, ...last);
    });
  });
}
"""


def escape_html(text: str) -> str:
    """Return a text with markup and control characters escaped, for attributes, too."""
    return escape(escape_controls(text))


def html_table(grid: Grid) -> str:
    """Return a table; its rows of suites stay last when a page sorts it."""
    sides = [" class=right" if side == "right" else "" for side in grid.sides]
    titles = [escape_html(title) for title in grid.titles]
    head = "".join(
        f"<th scope=col{side}>{title}" for side, title in zip(sides, titles, strict=True)
    )
    # A phone shows rows as lists, with the title before each cell.
    cells = [
        f'<th scope=row data-title="{title}">'
        if column < grid.n_labels
        else f'<td{side} data-title="{title}">'
        for column, (side, title) in enumerate(zip(sides, titles, strict=True))
    ]
    lines = []
    for number, row in enumerate(grid.rows):
        lines.append("<tr>" if number < grid.n_benchmarks else "<tr class=suite>")
        lines += [
            f"{cell}{f'<span class={text}>{text}</span>' if text in CHANGED else escape_html(text)}"
            for cell, text in zip(cells, row, strict=True)
        ]
    return f"<table class=sortable><thead><tr>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def page(title: str, blocks: Iterable[str]) -> str:
    """Return a page of blocks of HTML below its title."""
    body = "\n".join(block for block in blocks if block)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape_html(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        f"<h1>{escape_html(title)}</h1>\n{body}\n<script>{SCRIPT}</script></body></html>\n"
    )


def table_block(grid: Grid) -> str:
    """Return a table that scrolls where a screen is narrow; "" without rows."""
    return f"<div class=wide>{html_table(grid)}</div>" if grid.rows else ""


def picture_block(picture: str | None, title: str) -> str:
    """Return a picture, which is a data URI; "" without one."""
    alt = f"{escape_html(title)}: the numbers are in the table below"
    return f'<div class=wide><img alt="{alt}" src="{picture}"></div>' if picture else ""


def note_blocks(notes: Iterable[str]) -> list[str]:
    """Return notes, each a paragraph."""
    return [f"<p class=note>{escape_html(note)}</p>" for note in notes]
