"""Timings we measured or simulated, in the formats people have.

`measurement/` holds the scripts, docs/datasets.md says how.
"""

from pathlib import Path

import xarray as xr

from perfarray.readers import read, read_archive
from perfarray.timings.validation import listed

FOLDER = Path(__file__).parent

LAYOUTS = {
    "aa_sessions": ("aa_sessions", "{version}.json"),
    "c_suite": ("c_suite.csv.gz", None),
    "cpu_archive": ("cpu_archive.zip", None),
    "python_malloc": ("python_malloc", "{version}.json"),
}
"""Name of a dataset to its file or folder, and the layout of a folder."""


def dataset_path(name: str) -> Path:
    """Return where a shipped dataset lies: a file, or a folder of files.

    Parameters
    ----------
    name : {"aa_sessions", "c_suite", "cpu_archive", "python_malloc"}
        `c_suite`: five C benchmarks at -O2 and -O3, 15 builds x 10 executions x 20 iterations (tidy
        CSV). `python_malloc`: six Python benchmarks with two memory allocators (pyperf JSON).
        `aa_sessions`: the same six, twice, in two sessions (pyperf JSON). `cpu_archive`: 80
        simulated reports of 40 machines, none of which exists, in two suites of ten benchmarks (CSV
        of SPEC CPU2017).

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        When there is no such dataset.

    Examples
    --------
    >>> import perfarray
    >>> perfarray.dataset_path("c_suite").name
    'c_suite.csv.gz'
    """
    if name not in LAYOUTS:
        raise ValueError(f"dataset {name!r} not found; there are {listed(sorted(LAYOUTS))}")
    return FOLDER / LAYOUTS[name][0]


def load_dataset(name: str) -> xr.Dataset:
    """Read a shipped dataset.

    Parameters
    ----------
    name : {"aa_sessions", "c_suite", "cpu_archive", "python_malloc"}
        As for `dataset_path`.

    Returns
    -------
    Dataset
        `time` in seconds along `benchmark`, what is compared (`flags`, `version`, `machine`) and
        the levels; of `cpu_archive` also `ratio`.

    Raises
    ------
    ValueError
        When there is no such dataset.

    Examples
    --------
    >>> import perfarray
    >>> dict(perfarray.load_dataset("c_suite").sizes)
    {'benchmark': 5, 'flags': 2, 'binary': 15, 'execution': 10, 'iteration': 23}
    """
    path, layout = dataset_path(name), LAYOUTS[name][1]
    return read(path) if layout is None else read_archive(path, layout=layout)
