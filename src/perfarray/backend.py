"""The xarray engine `perfarray`, which reads one local file of benchmark results."""

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import xarray as xr
from xarray.backends import BackendEntrypoint


class PerfarrayBackend(BackendEntrypoint):
    """Open a file of benchmark results (pyperf, JMH, tidy CSV, ...) as timings.

    xarray finds it by the name `perfarray`, and by itself where the content of a file is of a known
    format. `perfarray.read` reads the same; through xarray there are `chunks=`, `drop_variables=`
    and `xarray.open_mfdataset`. The whole file is read when it is opened.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> path = perfarray.dataset_path("python_malloc") / "pymalloc.json"
    >>> xr.open_dataset(path, engine="perfarray")["time"].dims
    ('benchmark', 'execution', 'iteration')
    """

    description = "Open local files of benchmark results with perfarray, recognised by content"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "format")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        format: str | None = None,
    ) -> xr.Dataset:
        """Read one file.

        Parameters
        ----------
        filename_or_obj : path-like
            A local file; gzip, bzip2 and xz are unpacked.
        drop_variables : str or iterable of str, optional
            Variables and coordinates to leave out.
        format : str, optional
            As for `perfarray.read`.

        Returns
        -------
        Dataset
            What `perfarray.read` returns.

        Raises
        ------
        FileNotFoundError
            When there is no such file.
        ValueError
            For a folder, for what is no local path, for a file that is broken or of no known
            format.
        """
        from perfarray.readers import read

        if not isinstance(filename_or_obj, str | PathLike):
            kind = type(filename_or_obj).__name__
            raise ValueError(f"engine='perfarray' opens local files by their path; got {kind}")
        if "://" in fspath(filename_or_obj):
            raise ValueError(
                f"engine='perfarray' opens local files, and {filename_or_obj!r} is none; "
                "download it first"
            )
        path = Path(filename_or_obj)
        if path.is_dir():
            raise ValueError(
                f"{path}: is a folder, and engine='perfarray' opens one file; "
                "perfarray.read_archive reads folders"
            )
        dataset = read(path, format=format)
        if drop_variables is None:
            return dataset
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables)
        return dataset.drop_vars(dropped, errors="ignore")

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether a path is a local file that a reader of this package recognises.

        Parameters
        ----------
        filename_or_obj : object
            Whatever was given to `xarray.open_dataset`.

        Returns
        -------
        bool
            Never an error: xarray asks every engine about every file.
        """
        try:
            return isinstance(filename_or_obj, str | PathLike) and _is_known(Path(filename_or_obj))
        except Exception:  # another engine's file may be anything
            return False


def _is_known(path: Path) -> bool:
    """Recognise a file by its first bytes, and then by all of it."""
    from perfarray.readers.opening import Source, read_head
    from perfarray.readers.recognising import formats, recognise

    if not path.is_file():
        return False
    head = read_head(path)
    if "\0" in head or not any(known.started(head) for known in formats().values()):
        return False
    return recognise(Source(path)) is not None
