"""What commands that ask one thing of one archive have in common."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Form, give, give_failure, noted
from perfarray.cli.problems import quoted, reporting
from perfarray.cli.sides import Sources, explained

if TYPE_CHECKING:
    import xarray as xr

STORES = (".nc", ".zarr")
"""How the names of what `perfarray convert` writes end."""

LEVEL = "level"
"""The dim that tells levels apart; it makes columns, not rows."""


def read_one(archive: str, reading: dict[str, Any], files_are: str | None = None, sentences: list[str] | None = None) -> "xr.Dataset":
    """Read an archive, or what `perfarray convert` wrote; one file for all is no label, and several files may be repetitions."""
    times: xr.Dataset = _opened(archive, reading) if archive.endswith(STORES) else perfarray.read_archive(archive, **reading)
    times = times.isel(file=0, drop=True) if times.sizes.get("file") == 1 else times
    if files_are is None:
        return times
    sources = Sources(old=archive, new=None, reading=reading, files_are=files_are, dim=None, baseline=None)
    return explained(times, sources, [] if sentences is None else sentences)


def _opened(store: str, reading: dict[str, Any]) -> "xr.Dataset":
    """Load what `perfarray convert` wrote, in which nothing is left to be said."""
    import xarray

    from perfarray.tables.stores.writing import check_installed

    if "://" not in store and not Path(store).exists():
        return perfarray.read_archive(store)  # raises, with the name that is nearly so
    check_installed(Path(store))
    if reading:
        raise ValueError(f"{store} was written by perfarray convert and says what it holds; leave out {quoted(list(reading), 9)}")
    with warnings.catch_warnings(action="ignore"):  # as xarray and zarr do about formats they agree on
        return xarray.load_dataset(store, engine="zarr" if store.endswith(".zarr") else "h5netcdf")


def answer_one(
    archive: str,
    reading: dict[str, Any],
    target: Form,
    ask: "Callable[[xr.Dataset], xr.Dataset]",
    outcome: "Callable[[xr.Dataset], tuple[str, int]]",
    sort: str | None = None,
    files_are: str | None = None,
) -> None:
    """Read an archive, ask something of it, and give the answer."""
    from perfarray.timings.writing import rows_of

    failing = partial(give_failure, {"archive": archive, "rows": [], "attrs": {}, "notes": []}, target)
    with reporting(failing, options=options.SPOKEN) as warned:
        result = ask(read_one(archive, reading, files_are, warned))
    sentence, code = outcome(result)
    rows = rows_of(result, _cells(result))
    table, (attrs, notes) = perfarray.table(result, sort=sort), noted(result)
    legend = [f"{table.attrs['about']}."] if table.attrs["about"] else []
    content = {"archive": archive, "rows": rows, "attrs": attrs, "notes": notes}
    give(Answer(table=table, rows=rows, content=content, outcome=sentence, code=code, legend=legend), target, warned)


def _cells(result: "xr.Dataset") -> Sequence[str]:
    """Return the dims that make rows."""
    return [str(dim) for dim in result.dims if dim != LEVEL]
