"""What a plan of repetitions is."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from perfarray.timings.results import CellResult
from perfarray.variation.request import BUDGET_FACTOR


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RepetitionPlan(CellResult):
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
    >>> plan.sel(benchmark="fft").to_dataframe()["repetitions"].to_dict()
    {'execution': 18.0, 'iteration': 1.0}
    """

    WHOLE: ClassVar[tuple[str, ...]] = ("level", BUDGET_FACTOR)

    def to_dataframe(self) -> pd.DataFrame:
        """Return what to run as a table, a row for each level of each cell.

        Returns
        -------
        DataFrame
            All variables but those along `budget_factor`, which `to_dataset` has; what a cell has once stands on each of its rows.
        """
        once = self.dataset.drop_dims(BUDGET_FACTOR, errors="ignore")
        return once.drop_vars([name for name, label in once.coords.items() if not label.dims]).to_dataframe()
