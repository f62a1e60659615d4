"""What a report says: the sections of its kind, a summary, and what was measured on and with."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any, Final

import xarray as xr

from perfarray.conventions import LEVELS, MACHINE, SUITE, is_archive, plural, singular
from perfarray.reports import archive, versions
from perfarray.reports.sections import Content, Section, SectionOptions, answered
from perfarray.timings.progress import progress_bar

FEW: Final = 6  # labels of a dim that are described one by one
MOST: Final = 300  # rows of a table
UNDRAWN: Final = (
    "Pictures are left out: matplotlib, which draws them, is not installed; install "
    "perfarray[plots]."
)
PLAN: Final = "plan_repetitions"


def content_of(
    times: xr.DataArray | xr.Dataset,
    baseline: object,
    options: SectionOptions,
    *,
    pictures: bool,
    progress: bool | None = None,
) -> Content:
    """Ask the questions of a kind of report: of an archive of machines, or of versions.

    Without a baseline nothing is compared.
    """
    if options.by is not None:
        if options.by not in times.coords:
            raise ValueError(
                f"by={options.by!r} not found; the timings have the coordinates "
                f"{', '.join(map(repr, times.coords))}"
            )
        times = times.assign_coords({SUITE: times.coords[options.by]})
    questions = list(versions.questions(times, () if baseline is None else (baseline,), options))
    may_be_archive = is_archive(times, baseline)
    methods = [
        *(archive.METHODS if may_be_archive else ()),
        *(question.method for question in questions),
    ]
    if unknown := [name for name in options.sections or () if name not in methods]:
        raise ValueError(
            f"sections={unknown[0]!r} is no section of this report. Choose from "
            f"{', '.join(map(repr, dict.fromkeys(methods)))}"
        )
    all_asked = may_be_archive and options.sections is None
    n_asked = sum(map(options.asks, archive.METHODS if all_asked else methods))
    with progress_bar(n_asked, "report", "section", show=progress) or nullcontext() as bar:
        of_archive = archive.sections(times, options, pictures) if may_be_archive else ()
        sections = _told_once(_counted(of_archive, bar))
        has_scores = bool(sections)
        if has_scores and not options.sections:  # prices ask for a plan
            sections = [section for section in sections if section.result is not None]
            options = options._replace(sections=(PLAN,) if options.priced.get("costs") else ())
        requested = [question for question in questions if options.asks(question.method)]
        answers = (versions.titled(answered(times, question, pictures)) for question in requested)
        sections += _counted(answers, bar)
        if bar is not None:
            bar.total = len(sections)  # of an archive what there is to say shows on the way
    if has_scores:
        n_machines = times.sizes.get(MACHINE, 1)
        title = f"Archive of {n_machines} {MACHINE if n_machines == 1 else plural(MACHINE)}"
        summary = archive.summary(sections)
        sections[0] = sections[0]._replace(
            explanation=" ".join([*_measured(times, None), sections[0].explanation])
        )
    else:
        title = "Timings report"
        summary = [line for section in sections for line in versions.verdicts(section)]
        results = [section.result for section in sections if section.result is not None]
        counts = (result for result in results if result.attrs["result"] == "counts")
        summary += _measured(times, next(counts, None))
    summary += [UNDRAWN] if pictures and find_spec("matplotlib") is None else []
    return Content(
        title,
        tuple(summary),
        _described(times, options.dim),
        list(map(_first_rows, sections)),
        _code(times, options, sections),
    )


def _code(
    times: xr.DataArray | xr.Dataset, options: SectionOptions, sections: Iterable[Section]
) -> str:
    """Return the calls that give the tables of the sections."""
    code = [
        "import perfarray",
        "",
        f"times = ...  # what this report is about{_reading(times, options.dim)}",
    ]
    if options.by is not None:
        code.append(f"times = times.assign_coords({SUITE}=times[{options.by!r}])")
    code += [f"print(perfarray.table({section.code}))" for section in sections if section.code]
    return "\n".join(code)


def _counted(sections: Iterable[Section], bar: Any) -> Iterator[Section]:
    """Yield sections, each a step of the progress bar, if there is one."""
    for section in sections:
        if bar is not None:
            bar.update()
        yield section


def _told_once(sections: Iterable[Section]) -> list[Section]:
    """Return sections without the notes that an earlier one has: all are about the same archive."""
    earlier_notes: set[str] = set()
    once = []
    for section in sections:
        once.append(
            section._replace(
                notes=tuple(note for note in section.notes if note not in earlier_notes)
            )
        )
        earlier_notes.update(section.notes)
    return once


def _first_rows(section: Section) -> Section:
    """Return a section without the rows of a long table that nobody reads."""
    table = section.table
    if table is None or table.places.positions.size <= MOST:
        return section
    table = table.of_rows(slice(MOST))
    note = f"{table.places.n_left_out} more rows are left out of the table."
    return section._replace(table=table, notes=(*section.notes, note))


def _measured(times: xr.DataArray | xr.Dataset, counts: xr.Dataset | None) -> list[str]:
    phrases = [
        ", ".join(
            f"{size} {singular(str(dim)) if size == 1 else plural(str(dim))}"
            for dim, size in times.sizes.items()
            if dim not in LEVELS
        )
    ]
    attrs = times.attrs if counts is None else times.attrs | counts.attrs
    if counts is not None:
        largest_counts = counts["maximum"].max(
            [dim for dim in counts["maximum"].dims if dim != "level"]
        )
        numbers = zip(
            largest_counts["level"].values.tolist(), largest_counts.values.tolist(), strict=True
        )
        nest = [
            f"{number:.0f} {level if number == 1 else plural(level)}" for level, number in numbers
        ]
        phrases.append(f"at most {' of '.join(reversed(nest))}" if nest else "")
    sentences = [f"{'; '.join(filter(None, phrases)) or 'one value'}."]
    if "format" in attrs:
        sentences.append(f"Read as {attrs['format']}, files: {attrs.get('n_files', 1)}.")
    for name, description in {
        "n_files_skipped": "Files skipped",
        "n_files_broken": "Broken files",
        "n_warmup": "Values of warm-up left out",
        "n_failed": "Values of failed runs left out",
        "n_copied": "Copied values left out",
        "n_censored": "Runs stopped at a limit",
    }.items():
        if attrs.get(name):
            sentences.append(f"{description}: {attrs[name]}.")
    return sentences


def _reading(times: xr.DataArray | xr.Dataset, dim: str | None) -> str:
    """Return how several inputs are read as labels of a dim."""
    if dim is None or dim not in times.coords or times.sizes[dim] > FEW:
        return ""
    return (
        "; of several places: "
        f"perfarray.read_archive({ {str(label): '...' for label in times[dim].values.tolist()} }, "
        f"dim={dim!r})"
    )


def _described(times: xr.DataArray | xr.Dataset, dim: str | None) -> dict[str, str]:
    """Return the descriptors of all timings, and those in which a few compared labels differ."""
    descriptors = {
        str(name): str(label.values[()]) for name, label in times.coords.items() if not label.dims
    }
    if dim is None or dim not in times.coords or times.sizes[dim] > FEW:
        return descriptors
    labels = times[dim].values.tolist()
    for name, values in times.coords.items():
        if values.dims == (dim,) and name != dim:
            descriptors[str(name)] = ", ".join(
                f"{label}: {value}"
                for label, value in zip(labels, values.values.tolist(), strict=True)
            )
    return descriptors
