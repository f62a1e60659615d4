"""`perfarray demo`: three questions on timings that come with the package, and what to do next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import perfarray
from perfarray.cli.comparison import comparison, legend
from perfarray.cli.console import paragraph, program, screen_width, show, styled, table_lines

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

WHAT = """Five small C programs were compiled with gcc -O2 and -O3. Each suite was built 15 times
(binary), with object files linked in random order and an environment of random size. Each build was
started 10 times per benchmark (execution) and timed 20 times in each (iteration). 3 warm-up passes
are left out."""

WHERE = """How much timings vary between binaries, executions of one binary, and iterations of one
execution: the standard deviation in percent of the mean. In brackets is the share of the variance
of one timing (0 %: too small to be seen here)."""

FASTER = """A change below 2 % does not matter. The sample of each side is its 15 builds, not its
3000 timings. Timings of one build are alike; counting them as independent would claim too much."""


def demo() -> None:
    """Show what perfarray answers, on shipped timings: five C benchmarks with -O2 and with -O3."""
    from perfarray.timings.notes import collecting_notes

    times = perfarray.load_dataset("c_suite")
    counts = perfarray.counts(times)
    with collecting_notes() as notes:
        components = perfarray.variance_components(times)
    remarks = [_largest_share(components), *(note.message for note in notes if not note.aside)]
    result = perfarray.compare(times, "O2", dim="flags", threshold=0.02)
    verdicts = comparison(result)
    _show_step("1. What was measured", WHAT, perfarray.table(counts.isel(flags=0)))
    _show_step(
        "2. Where does the variation come from?", WHERE, perfarray.table(components), remarks
    )
    table = perfarray.table(result)
    _show_step("3. Is -O3 faster than -O2, by how much, how sure?", FASTER, table, legend(verdicts))
    show([styled("4. What to do next", bold=True), "", *_next_steps()])


def _show_step(title: str, text: str, frame: "pd.DataFrame", legend: Sequence[str] = ()) -> None:
    from perfarray.results.printed import grid_of

    width = screen_width()
    below = [line for sentence in legend for line in paragraph(sentence, width, dim=True)]
    show(
        [
            styled(title, bold=True),
            *paragraph(" ".join(text.split()), width),
            "",
            *table_lines(grid_of(frame), width),
            "",
            *below,
            *([""] if below else []),
        ]
    )


def _largest_share(components: "xr.Dataset") -> str:
    """Return what the components mean for the benchmark whose builds differ most."""
    variance = components["variance"].clip(min=0)
    share = (variance / variance.sum("level")).sel(level="binary")
    cell = share.isel(share.argmax(...))
    return (
        f"In {cell['benchmark'].item()} at -{cell['flags'].item()}, {100 * cell.item():.0f} % of "
        "the variance lies between builds. Repeated runs of one build do not show it. They give "
        "a precise mean of that build alone."
    )


def _next_steps() -> list[str]:
    """Return three things to try, each complete."""
    folder = perfarray.dataset_path("aa_sessions")
    return [
        (
            "Compare two result files (pyperf or JMH JSON, CSV; folders and globs too). Here, the "
            "same Python in two sessions: nothing"
        ),
        "changed, so whatever is called faster or slower shows what one session cannot see:",
        f"    {program()} compare {folder / 'first.json'} {folder / 'second.json'} --threshold 2%",
        "",
        "Bring your own timings as a table, one row per measured value:",
        "    benchmark,version,execution,iteration,time_ms",
        "    parse,1.0,0,0,12.31",
        (
            f"    then: {program()} compare old.csv new.csv          ({program()} compare --help "
            "says what else)"
        ),
        "",
        "Go on in Python, with every dimension at hand:",
        "    import perfarray",
        (
            '    times = perfarray.load_dataset("c_suite")    # or perfarray.read_archive({"old": '
            '"old/", "new": "new/"}, dim="version")'
        ),
        "    times.perf.variance_components()",
        '    times.perf.compare("O2", dim="flags", threshold=0.02)',
    ]
