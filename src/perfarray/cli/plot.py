"""`perfarray plot`: one picture of an archive, in a file."""

import inspect
import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.problems import quoted, reporting
from perfarray.cli.reading import read_one
from perfarray.cli.sides import Sources, read_sides
from perfarray.conventions import plural

if TYPE_CHECKING:
    import xarray as xr

SUFFIXES = (".svg", ".png", ".pdf")
"""What is written, by the end of its name."""


OPTIONS = options.SPOKEN | {name: f"--{name}" for name in ("threshold", "baseline", "select")}
"""The options that stand for arguments of the pictures."""

LEFT_OUT = ("against", "plan", "svg")
"""What is no picture of timings alone: a plan has prices, and what times are drawn against has no option."""


def plot(
    kind: Annotated[str, typer.Argument(help="The picture: violin, intervals, ...; a wrong name lists all.", show_default=False)],
    old: options.Archive,
    new: Annotated[str | None, typer.Argument(help="What is compared with it, if anything.", show_default=False)] = None,
    output: Annotated[Path, typer.Option("-o", metavar="FILE", help="What to write: .svg, .png or .pdf.", show_default=False)] = ...,  # type: ignore[assignment]
    dim: options.Dim = None,
    baseline: options.Baseline = None,
    levels: options.Levels = None,
    metric: options.Metric = None,
    threshold: options.Threshold = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=LABEL",
            help="One label of a dim, where a picture shows one: benchmark=fft. An end of it that no other has, or a pattern (*) will do.",
        ),
    ] = None,
    files_are: options.FilesAre = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
) -> None:
    """Draw a picture of what was measured, or of a comparison, with its own defaults.

    Exit code 0: it is written.
    Exit code 2: it is not; a file cannot be read or written, there is no such picture, a wrong option.

    Example: perfarray plot intervals old.json new.json -o intervals.svg
    """
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    choices = options.given(levels=options.names(levels), metric=metric, threshold=threshold)
    with reporting(options=OPTIONS) as sentences:
        _check_output(output)
        kind = _known(kind)
        parameters = inspect.signature(_picture(None, kind)).parameters
        compared = new is not None or dim is not None or baseline is not None
        wrong = [f"--{name}" for name in choices if name not in parameters]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: the picture {kind} takes no such option")
        if "baseline" in parameters and parameters["baseline"].default is inspect.Parameter.empty and not compared:
            raise ValueError(f"the picture {kind} compares: give OLD and NEW, or --dim and --baseline")
        if compared:
            sides = read_sides(Sources(old=old, new=new, reading=reading, files_are=files_are, dim=dim, baseline=baseline), sentences)
            times = sides.times
            choices |= {name: value for name, value in (("baseline", sides.baseline), ("dim", sides.dim)) if name in parameters}
        else:
            times = read_one(old, reading, files_are, sentences)
        _check_compared(times, kind, parameters)
        _save(_picture(_selected(times, select or []), kind)(**choices), output)
    typer.echo(f"{output}: {kind}")


def _picture(times: Any, kind: str) -> Callable[..., Any]:
    """Return a picture of some timings, or of none, for its signature."""
    import xarray as xr

    picture: Callable[..., Any] = getattr((xr.Dataset() if times is None else times).perf.plot, kind)
    return picture


def _check_compared(times: "xr.Dataset", kind: str, parameters: Mapping[str, inspect.Parameter]) -> None:
    """Raise where a picture is of several labels of a dim, as of machines, that was not read."""
    dim = parameters["samples"].default if "samples" in parameters else None
    if dim is not None and dim not in times.dims:
        have = quoted([str(dim_present) for dim_present in times.dims], 9)
        several = f"the picture {kind} shows several {plural(dim)}; what was read has {have}"
        raise ValueError(f'{several}: the paths of files may name them, --layout "{{{dim}}}/..."')


def _known(kind: str) -> str:
    """Return the name of a picture, which may be written with hyphens; raise where there is none."""
    import xarray as xr

    name, pictures = kind.replace("-", "_"), type(xr.Dataset().perf.plot)
    pictures_known = [name for name in dir(pictures) if not name.startswith("_") and name not in LEFT_OUT]
    if name not in pictures_known:
        raise ValueError(f"there is no picture {kind!r}; there are {quoted(pictures_known, 30)}")
    return name


def _selected(times: "xr.Dataset", texts: list[str]) -> "xr.Dataset":
    """Return the timings of some labels."""
    for text in texts:
        dim, sign, label = text.partition("=")
        if not sign or dim not in times.dims or dim not in times.coords:
            have = quoted([str(value) for value in times.dims], 9)
            raise ValueError(f"--select {text!r}: write a dim and its label, as in benchmark=fft; what was read has {have}")
        labels = {str(value): value for value in times[dim].values.tolist()}
        times = times.sel({dim: labels[_label(text, label, list(labels))]})
    return times


def _label(text: str, label: str, labels: list[str]) -> str:
    """Return the label that is meant: itself, else the only one with that end (of a package's name), or of that pattern."""
    from difflib import get_close_matches
    from fnmatch import fnmatchcase

    dim = text.partition("=")[0]
    matching = [name for name in labels if name == label] or [name for name in labels if _ends_with(_bare(name), label)]
    matching = matching or [name for name in labels if fnmatchcase(name, label)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ValueError(f"--select {text!r}: {len(matching)} labels of {dim} are like that: {quoted(matching, 9)}; name one")
    near = [name for name in labels if label.lower() in name.lower()] or get_close_matches(label, labels, n=9)
    raise ValueError(f"--select {text!r}: no such {dim}; {f'near it: {quoted(near, 9)}' if near else f'there is {quoted(labels, 9)}'}")


def _ends_with(name: str, end: str) -> bool:
    """Return whether a name ends so, with whole words: `org.example.copy` with `copy`, and `recopy` not."""
    preceding = name.removesuffix(end)[-1:]
    return name.endswith(end) and not (preceding.isalnum() or preceding == "_")


def _bare(label: str) -> str:
    """Return a label without its settings: `org.example.copy[size=1024]` ends with `copy`."""
    return re.sub(r"\[\w+=.*\]$", "", label, flags=re.S)


def _check_output(output: Path) -> None:
    """Raise where a picture cannot be written: before anything is read."""
    if output.suffix.lower() not in SUFFIXES:
        raise ValueError(f"-o {output}: the end of the name says what is written, and {output.suffix!r} is none of {quoted(SUFFIXES, 3)}")
    if not output.parent.is_dir():
        raise ValueError(f"-o {output}: there is no folder {str(output.parent)!r} to write to")
    if find_spec("matplotlib") is None:
        raise ImportError("this needs matplotlib, which is not installed; install perfarray[plots]")
    os.environ.setdefault("MPLBACKEND", "Agg")
    perfarray.read  # noqa: B018  (registers .perf)


def _save(axes: Any, output: Path) -> None:
    """Write the figure of some Axes, as a whole."""
    from perfarray.timings.writing import replacing

    figure = axes.get_figure(root=True)
    with replacing(output) as (fresh,):
        figure.savefig(fresh, format=output.suffix[1:].lower(), bbox_inches="tight")
