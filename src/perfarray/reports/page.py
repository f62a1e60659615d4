"""A report as one self-contained page for browsers, in which no value is markup."""

from typing import Final

from perfarray.reports.sections import Content, Section
from perfarray.reports.text import titles_and_rows
from perfarray.results.rows import Table, escape_html

# Nothing is fetched.
POLICY: Final = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)

STYLE: Final = """
:root { color-scheme: light; --line: #d8dee4; --quiet: #57606a }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; color: #1f2328;
  overflow-wrap: anywhere }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2rem; border-bottom: 1px solid var(--line) }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line) }
thead th button { all: unset; cursor: pointer; font-weight: 600 } thead th button:focus-visible { outline: 2px solid #0072B2 }
.faster { color: #00704f; font-weight: 600 } .slower { color: #b04400; font-weight: 600 }
.note { color: var(--quiet); border-left: 3px solid var(--line); padding-left: .8rem; margin: .4rem 0 }
pre { overflow-x: auto; background: #f6f8fa; padding: .8rem } summary { cursor: pointer }
@media (min-width: 601px) { img { max-width: 100%; height: auto } }
@media screen and (max-width: 600px) { .sortable, .sortable :is(tbody, tr, td) { display: block } .sortable thead { display: none }
  .sortable tr { padding: .5rem 0; border-bottom: 1px solid var(--line) } .sortable td { border: 0; padding: 0; white-space: normal }
  .sortable td::before { color: var(--quiet); font-weight: 400 } .sortable td:empty { display: none } }
@media print { details:not([open]) { display: none } h2 { break-after: avoid } tr, img { break-inside: avoid } body { max-width: none }
  .wide { overflow: visible } img { max-width: 100%; max-height: 24cm } table { font-size: .75rem }
  th, td { white-space: normal; overflow-wrap: break-word } h2 + p { break-after: avoid }
  pre { white-space: pre-wrap } }
"""

SCRIPT: Final = r"""
const sizes = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600};
const number = text => {
  if (text === "" || text === "-") return null;
  if (text.startsWith("unchanged")) return 0;
  const parts = [...text.replace(/^< /, "").matchAll(/(-?[0-9.]+(?:e[-+]?[0-9]+)?)(x faster)?(?: (ns|us|ms|s|min|h)\b)? ?/gy)];
  return parts.length ? parts.reduce((sum, part) => sum + parseFloat(part[1]) * (part[2] ? -1 : sizes[part[3]] ?? 1), 0) : NaN;
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], given = [...body.rows];
  const last = given.filter(row => row.dataset.suite), rest = given.filter(row => !row.dataset.suite);
  table.querySelectorAll("thead th").forEach((head, place) => {
    const button = document.createElement("button");
    button.append(...head.childNodes); head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = row => row.cells[place].textContent;
      const numeric = rest.every(row => !Number.isNaN(number(text(row))));
      const order = (first, second) => numeric ? number(first) - number(second) : first.localeCompare(second);
      const known = rest.filter(row => !numeric || number(text(row)) !== null), unknown = rest.filter(row => !known.includes(row));
      known.sort((first, second) => (down ? -1 : 1) * order(text(first), text(second)));
      body.append(...known, ...unknown, ...last);
    });
  });
}
"""


def as_html(content: Content) -> str:
    """Return the report as one page."""
    described = "".join(
        f"<tr><th scope=row>{escape_html(name)}</th><td>{escape_html(text)}</td></tr>"
        for name, text in content.described.items()
    )
    about = (
        "<details><summary>What was measured on and with</summary><div "
        f"class=wide><table>{described}</table></div></details>"
    )
    body = [
        f"<h1>{escape_html(content.title)}</h1>",
        f"<ul>{''.join(f'<li>{escape_html(line)}</li>' for line in content.summary)}</ul>",
        about if described else "",
        *(_section(section, f"table{number}") for number, section in enumerate(content.sections)),
        f"<h2>The code</h2><pre>{escape_html(content.code)}</pre>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape_html(content.title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(block for block in body if block)
        + f"\n<script>{SCRIPT}</script></body></html>\n"
    )


def _section(section: Section, name: str) -> str:
    blocks = [f"<h2>{escape_html(section.title)}</h2><p>{escape_html(section.about)}</p>"]
    if section.picture is not None:
        alt = f"{escape_html(section.title)}: the numbers are in the table below"
        blocks.append(f'<div class=wide><img alt="{alt}" src="{section.picture}"></div>')
    blocks += [_table(section.table, name)] if section.table is not None else []
    blocks += [f"<p class=note>{escape_html(note)}</p>" for note in section.notes]
    if section.code:
        blocks.append(
            "<details><summary>How it was "
            f"asked</summary><pre>{escape_html(section.code)}</pre></details>"
        )
    return "\n".join(blocks)


def _table(table: Table, name: str) -> str:
    """Write a table; its rows of suites stay last when it is sorted.

    A phone shows rows as lists, with the title before each cell.
    """
    titles, lines = titles_and_rows(table)
    end = table.places.positions.size
    head = "".join(f"<th scope=col>{escape_html(title)}</th>" for title in titles)
    body = "".join(
        f"<tr{'' if number < end else ' data-suite=1'}>{''.join(map(_cell, line))}</tr>\n"
        for number, line in enumerate(lines)
    )
    before = "".join(
        f'#{name} td:nth-child({place})::before {{ content: "{_in_css(title)} " }}'
        for place, title in enumerate(titles, 1)
    )
    style = f"<style>@media screen and (max-width: 600px) {{ {before} }}</style>"
    text = (
        "<table class=sortable "
        f"id={name}><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
    )
    return f"<div class=wide>{style}{text}</div>"


def _in_css(text: str) -> str:
    """Return a text for a string in CSS: all but letters and digits by their numbers, so that nothing ends it."""
    return "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):06x}"
        for letter in text
    )


def _cell(text: str) -> str:
    return (
        f"<td class={text}>{text}</td>"
        if text in ("faster", "slower")
        else f"<td>{escape_html(text)}</td>"
    )
