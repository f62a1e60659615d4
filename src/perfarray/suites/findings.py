"""What a comparison of two suites has to say beside its numbers."""

import xarray as xr

from perfarray.suites.numerics.ratios import Score
from perfarray.timings.across import count_empty, name_suites, name_unmatched
from perfarray.timings.apply import is_chunked
from perfarray.timings.pairs import Pair
from perfarray.timings.resampling import few_replicates, few_units


def finish(
    found: xr.Dataset, pair: Pair, across: str, *, draws: bool = False, score: Score | None = None
) -> tuple[xr.Dataset, tuple[str, ...]]:
    """Take out what is only reported, and say what there is to say; a lazy result is not looked at."""
    result = found.drop_vars(["_matched", "_incomplete"])
    if not any(across in variable.dims for variable in result.data_vars.values()):
        result = result.drop_vars(across, errors="ignore")
    note = name_unmatched(result, found["_matched"], across)
    incomplete, n = found["_incomplete"], result["n"]
    notes = [*pair.notes, pair.candidate.selected, name_suites(result, pair.candidate, found["_matched"], across), note]
    if is_chunked(n):
        return result, tuple(notes)
    unit = str(across if score is not None and score.random_benchmarks else result.attrs["unit"])
    left_out, single = int(incomplete.sum()), int((n == 1).sum())
    if left_out:
        result.attrs["n_incomplete_units"] = left_out
        notes.append(f"{left_out} shared units ({unit}) lack some benchmarks and are left out")
    if single and score is not None:
        notes.append(
            f"{single} of {n.size} cells rest on one {unit}: their limits are NaN, since one shows no spread; measure more of them"
        )
    notes.append(count_empty(n == 0, "no benchmark measured on both sides"))
    if draws and score is not None:
        method = str(result.attrs["method"])
        notes += [few_units(n, method, f"units ({unit})", studentize=False)]
        notes += [few_replicates(int(result.attrs["n_resamples"]), method, score.tails)]
    return result, tuple(notes)
