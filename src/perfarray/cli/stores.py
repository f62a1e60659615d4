"""What `perfarray convert` and `to_netcdf` wrote, as commands read it."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import perfarray
from perfarray.conventions import TIME

if TYPE_CHECKING:
    import xarray as xr

STORES: Final = (".nc", ".zarr")
NETCDF3: Final = b"CDF"  # how files begin that xarray writes where only SciPy is installed
UNNAMED: Final = "__xarray_dataarray_variable__"  # what xarray calls an array without a name


def stored_timings(store: str, reading: dict[str, Any]) -> "xr.Dataset":
    """Load timings, or raise where a store holds an answer."""
    times = open_store(store, reading)
    if "result" in times.attrs:
        raise ValueError(
            f"{store} holds an answer of {times.attrs['result']}, not timings. "
            f"`perfarray {store}` shows it"
        )
    return times


def open_store(store: str, reading: dict[str, Any]) -> "xr.Dataset":
    """Load what `perfarray convert` or `to_netcdf` wrote, which says itself what it holds."""
    import xarray

    from perfarray.tables.stores.writing import check_installed

    if "://" not in store and not Path(store).exists():
        return perfarray.read_archive(store)  # raises, with the most similar name
    if reading:
        given = ", ".join(f"--{name.replace('_', '-')}" for name in reading)
        raise ValueError(f"{store} says what it holds. Leave out {given}")
    engine = "zarr" if store.endswith(".zarr") else "h5netcdf"
    if Path(store).is_file():
        with Path(store).open("rb") as file:
            engine = "scipy" if file.read(len(NETCDF3)) == NETCDF3 else engine
    if engine != "scipy":
        check_installed(Path(store))
    with warnings.catch_warnings(
        action="ignore"
    ):  # as xarray and zarr do about formats they agree on
        times = xarray.load_dataset(store, engine=engine)
    unnamed = {name: TIME for name in times.data_vars if name == UNNAMED and TIME not in times}
    return times.rename(unnamed)
