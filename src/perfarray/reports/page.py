"""A report as one self-contained page for browsers."""

from perfarray.reports.sections import Content, Section
from perfarray.results.pages import escape_html, note_blocks, page, picture_block, table_block
from perfarray.results.printed import grid_of


def as_html(content: Content) -> str:
    """Return the report as one page."""
    descriptor_rows = "".join(
        f"<tr><th scope=row>{escape_html(name)}</th><td>{escape_html(text)}</td></tr>"
        for name, text in content.described.items()
    )
    machine_block = (
        "<details><summary>What was measured on and with</summary><div "
        f"class=wide><table>{descriptor_rows}</table></div></details>"
    )
    blocks = [
        f"<ul>{''.join(f'<li>{escape_html(line)}</li>' for line in content.summary)}</ul>",
        machine_block if descriptor_rows else "",
        *map(_section, content.sections),
        f"<h2>The code</h2><pre>{escape_html(content.code)}</pre>",
    ]
    return page(content.title, blocks)


def _section(section: Section) -> str:
    blocks = [
        f"<h2>{escape_html(section.title)}</h2><p>{escape_html(section.explanation)}</p>",
        picture_block(section.picture, section.title),
    ]
    if section.table is not None:
        grid = grid_of(section.table)
        blocks += [table_block(grid), *note_blocks(grid.remarks)]
    blocks += note_blocks(section.notes)
    if section.code:
        blocks.append(
            "<details><summary>How it was "
            f"asked</summary><pre>{escape_html(section.code)}</pre></details>"
        )
    return "\n".join(block for block in blocks if block)
