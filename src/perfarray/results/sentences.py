"""Sentences below the tables of some kinds of results."""

import xarray as xr

from perfarray.conventions import level_of_intervals, plural


def no_remarks(_: xr.Dataset) -> list[str]:
    """Return nothing: most kinds need no remark."""
    return []


def component_brackets(data: xr.Dataset) -> list[str]:
    """Write what the numbers of variance components are, and what the brackets hold."""
    text = ["what each level adds, as standard deviation in percent of the mean"]
    if data.attrs.get("limits") == "jackknife":
        return [*text, f"in brackets its {level_of_intervals(data)} interval"]
    shares = bool(data["share"].notnull().all("level").any())
    return [*text, "in brackets its share of the variance"] if shares else text


def agreement_intervals(data: xr.Dataset) -> list[str]:
    """Write the level of the intervals, and the meaning of "n/a"."""
    return [
        f"{level_of_intervals(data)} intervals",
        "n/a: these data cannot give the method a verdict (the variable remark says why)",
    ]


def tested_speedups(data: xr.Dataset) -> list[str]:
    """Write the direction and the level of the hierarchical performance test."""
    return ["tested: the candidate is better", f"speedups at {level_of_intervals(data)}"]


def statistic_remarks(data: xr.Dataset) -> list[str]:
    """Name the statistic where it is not the mean."""
    return ["medians"] if data.attrs.get("statistic") == "median" else []


def pair_remarks(data: xr.Dataset) -> list[str]:
    """Write the chance of a false verdict among many pairs without a correction."""
    values_per_pair = 2 if "baseline" in data["lower"].dims else 1  # a pair and its reverse
    n_pairs = int(data["lower"].notnull().sum()) // values_per_pair
    if n_pairs < 2 or data.attrs["correction"] != "none":
        return statistic_remarks(data)
    chance = 100 * (1 - float(data.attrs["confidence_level"]) ** n_pairs)
    warning = (
        f"{n_pairs} verdicts at once: up to {chance:.0f} % probability of a false difference "
        "(correction='holm' bounds it)"
    )
    return [warning, *statistic_remarks(data)]


def total_remarks(data: xr.Dataset) -> list[str]:
    """Write the number of runs in the totals that a probability compares."""
    return [f"totals of {data.attrs['runs']} runs each"] if data.attrs["runs"] > 1 else []


def no_change(data: xr.Dataset) -> str:
    """Write the number of series without a change, and their length."""
    n_series, longest = (
        int(data["pvalue_any"].notnull().sum()),
        int(data["n"].max()) if data["n"].size else 0,
    )
    return f"no change in {n_series} series of up to {longest} {plural(str(data.attrs['dim']))}"
