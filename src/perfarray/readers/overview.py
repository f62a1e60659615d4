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
    known = dict(sorted(recognising.formats().items()))
    if name is not None:
        check_choice(name, "format", list(known))
        known = {name: known[name]}
    texts = {own: str(sys.modules[one.read.__module__].__doc__ or "").partition("\n") for own, one in known.items()}
    rows = {own: {"what": first, "details": " ".join(rest.split())} for own, (first, _, rest) in texts.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("format")
