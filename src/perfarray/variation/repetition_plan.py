"""What a plan of repetitions is."""

from dataclasses import dataclass

from perfarray.timings.results import Result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RepetitionPlan(Result):
    """How many repetitions to run: what `plan_repetitions` and `plan_suite` answer.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives: `repetitions` along `level`, `cost`, `half_width` and the rest, as the function that made it says.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [[9, 8], [10, 7], [1, 2]]}, dim="benchmark", level=("execution", "iteration"))
    >>> plan = times.perf.plan_repetitions(costs={"execution": 10}, budget=200)
    >>> plan.to_dataset()["repetitions"].sel(benchmark="fft").to_series().to_dict()
    {'execution': 18.0, 'iteration': 1.0}
    """
