"""`perfarray plot`: one picture of an archive, in a file."""

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.console import show
from perfarray.cli.forms import PICTURES
from perfarray.cli.problems import quoted, reporting
from perfarray.cli.reading import read
from perfarray.conventions import is_archive, plural

if TYPE_CHECKING:
    import xarray as xr

SCORES = "five_numbers"

OPTIONS = options.spoken("threshold baseline by")

MORE_ROWS = re.compile(
    r";\s+max_rows=\d+\s+draws\s+the\s+\d+\s+others"
)  # of a title: the command has no such option

LEFT_OUT = (
    "against",
    "plan",
    "png",
    "svg",
)  # no pictures of timings alone: a plan has prices, and there is no option for the other axis


def plot(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[PICTURE] OLD [NEW]...",
            help=(
                "Name the picture and its files. A wrong name lists all pictures. Default: "
                "intervals of a comparison, violin of one input, five-numbers of an archive of "
                "machines."
            ),
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            help="Write this .svg, .png or .pdf file. Default: PICTURE.svg.",
            show_default=False,
        ),
    ] = None,
    threshold: options.Threshold = None,
    by: options.By = None,
    selected: options.Selected,
    nest: options.Nest,
) -> None:
    """Draw a picture of the measurements, or of a comparison.

    Exit code 0: the picture is written.
    Exit code 2: it is not: a file cannot be read or written, there is no such picture, or an
    option is wrong.

    Example: perfarray plot old.json new.json -o intervals.svg
    """
    from perfarray.tables.replacing import replacing

    choices = nest | options.given(threshold=threshold, by=by)
    with reporting(options=OPTIONS, doing="plot") as sentences:
        if find_spec("matplotlib") is None:
            raise ImportError(
                "this needs matplotlib, which is not installed; install perfarray[plots]"
            )
        os.environ.setdefault("MPLBACKEND", "Agg")
        perfarray.read  # noqa: B018  (registers .perf)
        # A picture with room for a part of many cells says so itself.
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        kind, inputs = _kind_and_places(arguments, selected)
        sides = None
        if not kind:
            sides = read(inputs, selected, sentences)
            kind = SCORES if is_archive(sides.times) else "violin"
        file = _file_to_write(output, kind)
        parameters = inspect.signature(_picture(None, kind)).parameters
        wrong = [f"--{name}" for name in choices if name not in parameters]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: the picture {kind} takes no such option")
        compares = (
            "baseline" in parameters and parameters["baseline"].default is inspect.Parameter.empty
        )
        if compares and len(inputs) == 1 and selected.dim is None and selected.baseline is None:
            raise ValueError(
                f"the picture {kind} compares: give OLD and NEW, or --dim and --baseline"
            )
        sides = sides or read(inputs, selected, sentences)
        choices |= {"method": "exact"} if kind == SCORES else {}
        choices |= {
            name: value
            for name, value in options.given(baseline=sides.baseline, dim=sides.dim).items()
            if name in parameters
        }
        _check_samples(sides.times, kind, parameters)
        # A picture that shows one label takes timings without the dim; that of several samples
        # names the label.
        selected_dims = {
            text.partition("=")[0] for text in selected.select or () if "samples" not in parameters
        }
        one_label = [dim for dim in selected_dims if sides.times.sizes.get(dim) == 1]
        axes = _picture(sides.times.squeeze(one_label), kind)(**choices)
        figure = axes.get_figure(root=True)
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text")):
            text.set_text(MORE_ROWS.sub("", text.get_text()))
        with replacing(file) as (fresh,):
            figure.savefig(fresh, format=file.suffix[1:].lower(), bbox_inches="tight")
    show([f"{file}: {kind}"])


def _picture(times: Any, kind: str) -> Callable[..., Any]:
    """Return a picture of timings, or of none, for its signature."""
    import xarray as xr

    picture: Callable[..., Any] = getattr(
        (xr.Dataset() if times is None else times).perf.plot, kind
    )
    return picture


def _picture_names() -> list[str]:
    import xarray as xr

    return [
        name
        for name in dir(type(xr.Dataset().perf.plot))
        if not name.startswith("_") and name not in LEFT_OUT
    ]


def _check_samples(
    times: "xr.Dataset", kind: str, parameters: Mapping[str, inspect.Parameter]
) -> None:
    """Raise where a picture shows several labels of a dim, such as machines, that was not read."""
    dim = parameters["samples"].default if "samples" in parameters else None
    if dim is not None and dim not in times.dims:
        dims = quoted([str(name) for name in times.dims])
        raise ValueError(
            f"the picture {kind} shows several {plural(dim)}; what was read has {dims}: the "
            "paths of files may name them, "
            f'--layout "{{{dim}}}/..."'
        )


def _kind_and_places(arguments: list[str], selected: options.Selection) -> tuple[str, list[str]]:
    """Return the picture, named first or that of a comparison, and the places.

    "" where what is read decides.
    """
    first, *inputs = arguments
    name, names = first.replace("-", "_"), _picture_names()
    if inputs and name in names:
        return name, inputs
    if inputs and re.fullmatch(r"[\w-]+", first) and not Path(first).exists():
        raise ValueError(f"there is no picture {first!r}; there are {quoted(names, 30)}")
    compared = inputs or selected.dim is not None or selected.baseline is not None
    return ("intervals" if compared else ""), arguments


def _file_to_write(output: Path | None, kind: str) -> Path:
    """Return the file of a picture; raise where it cannot be written, before anything is read."""
    if output is None:
        output = Path(f"{kind.replace('_', '-')}.svg")
        if output.exists():
            raise ValueError(f"{output} exists. Name the file to write with -o")
    if output.suffix.lower() not in PICTURES:
        raise ValueError(
            f"-o {output}: the suffix says what is written, and {output.suffix!r} is none of "
            f"{quoted(PICTURES)}"
        )
    if not output.parent.is_dir():
        raise ValueError(f"-o {output}: there is no folder {str(output.parent)!r} to write to")
    return output
