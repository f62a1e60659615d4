"""A model of performance or of variation: what it explains, and what it predicts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from perfarray.machines.models import Predict
from perfarray.results.models import FittedModel
from perfarray.timings.validation import listed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VariabilityModel(FittedModel):
    """A model of performance or of variation, as returned by `explain_variation`.

    Parameters
    ----------
    dataset : Dataset
        The result of `to_dataset`, described in `explain_variation`.
    result : object
        The object of statsmodels or scikit-learn, fitted to all rows.
    answer : callable
        Predicts the response (or its log) from a table.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfarray
    >>> mhz = np.linspace(2000, 4000, 30)
    >>> table = pd.DataFrame({"performance": 1e4 / mhz, "cpu_mhz": mhz})
    >>> formula = "np.log(performance) ~ np.log(cpu_mhz)"
    >>> model = table.perf.explain_variation(model="ols", formula=formula, rng=1)
    >>> round(model.correlation, 6), round(float(model.result.params.iloc[1]), 6)
    (1.0, -1.0)
    >>> model.predict(pd.DataFrame({"cpu_mhz": [5000.0]})).round(6).tolist()
    [0.693147]
    """

    WHOLE: ClassVar[tuple[str, ...]] = (
        "predictor",
        "row",
        "point",
        "term",
        "dependent",
        "fitted_row",
    )

    result: Any
    answer: Predict

    @property
    def influence(self) -> pd.Series:
        """Influence of every predictor in percent, the largest first (a Series by predictor)."""
        influence = self.dataset["influence"].to_series()
        return influence.sort_values(ascending=False, kind="stable")

    @property
    def correlation(self) -> float:
        """Correlation of measured and predicted values of rows that the fit did not see."""
        return float(self.dataset["correlation"])

    def sentences(self) -> tuple[str, ...]:
        """Say in sentences for a report what explains the response.

        Returns
        -------
        tuple of str
            Which predictors explain most of the variation, and how much all explain together, with
            limits. They also stand below the table.
        """
        return tuple(self.table().attrs["findings"])

    def predict(self, table: pd.DataFrame) -> pd.Series:
        """Predict the response of machines.

        Parameters
        ----------
        table : pandas.DataFrame
            Has the columns of the predictors.

        Returns
        -------
        pandas.Series
            In the units of the response; exp of a predicted log, which is a median rather than a
            mean. With a formula, the left side of `~`. NaN where a linear model lacks a predictor,
            a label is new, or a value lies outside of a spline.

        Raises
        ------
        ValueError
            A predictor is not in the table.
        """
        missing = [name for name in self.dataset["predictor"].values.tolist() if name not in table]
        if missing:
            raise ValueError(
                f"columns {listed(missing)} not found; the table has {listed(table.columns)}"
            )
        predicted, attrs = self.answer(table), self.dataset.attrs
        return pd.Series(
            np.exp(predicted) if attrs["log"] else predicted,
            index=table.index,
            name=str(attrs["response"]),
        )
