"""A model of performance or of variation: what it explains, in words and numbers, and what it predicts."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.machines.models import Predict
from perfarray.results.models import FittedModel
from perfarray.timings.validation import listed

RESPONSE: Final = "response"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VariabilityModel(FittedModel):
    """A model of performance or of variation, as returned by `explain_variation`.

    Parameters
    ----------
    dataset : Dataset
        The result of `to_dataset`, described in `explain_variation`.
    result : object
        The object of statsmodels or scikit-learn, fitted to all rows; for `response="levels"` a
        dict of them.
    answer : callable
        Predicts the response (or its log) from a table.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfarray
    >>> mhz = np.linspace(2000, 4000, 30)
    >>> table = pd.DataFrame({"performance": 1e4 / mhz, "cpu_mhz": mhz})
    >>> model = table.perf.explain_variation(model="ols", formula="np.log(performance) ~ np.log(cpu_mhz)", rng=1)
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
        """Relative influence of every predictor in percent, the largest first (a Series by predictor)."""
        return (
            self._single("influence")["influence"]
            .to_series()
            .sort_values(ascending=False, kind="stable")
        )

    @property
    def correlation(self) -> float:
        """Correlation of measured and predicted values of rows that the fit did not see."""
        return float(self._single("correlation")["correlation"])

    def sentences(self) -> tuple[str, ...]:
        """Return what was found in sentences for a report.

        Returns
        -------
        tuple of str
            Which predictors explain most of the variation, and how much all explain together, with
            limits; empty for several responses. They also stand below the table.
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
            A predictor is not in the table; the model has several responses.
        """
        predictors = self._single("predict")["predictor"].values.tolist()
        missing = [name for name in predictors if name not in table]
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

    def _single(self, attribute: str) -> xr.Dataset:
        if isinstance(self.result, dict):
            names = listed(np.atleast_1d(self.dataset[RESPONSE].values))
            raise ValueError(
                f"{attribute} is of one response, and this result has {names}: ask for one "
                "with response="
            )
        return self.dataset
