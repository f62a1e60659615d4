"""The formats that can be read, and what each becomes."""

import sys

import pandas as pd

from perfarray.readers import recognising
from perfarray.timings.validation import check_choice


def formats(name: str | None = None) -> pd.DataFrame:
    """List the formats that can be read.

    Parameters
    ----------
    name : str, optional
        One of them; default: all.

    Returns
    -------
    pandas.DataFrame
        A row for each, its name (what `format=` takes) in the index: `what` a file of it is and becomes, in one sentence, and `details`.

    Raises
    ------
    ValueError
        When there is no such format.

    See Also
    --------
    read : Read one file.

    Examples
    --------
    >>> import perfarray
    >>> print(perfarray.formats("jmh").loc["jmh", "what"])
    JMH JSON (`-rf json`): forks are executions, measurement iterations iterations; warm-up is not in the file.
    """
    formats_by_name = dict(sorted(recognising.formats().items()))
    if name is not None:
        check_choice(name, "format", list(formats_by_name))
        formats_by_name = {name: formats_by_name[name]}
    modules = {key: sys.modules[file_format.read.__module__] for key, file_format in formats_by_name.items()}
    texts = {key: str(module.__doc__ or "").partition("\n") for key, module in modules.items()}
    rows = {key: {"what": first, "details": " ".join(details.split())} for key, (first, _, details) in texts.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("format")
