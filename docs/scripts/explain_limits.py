"""What the limits of shares contain: which machines were tested, and not which machines the model
was fitted to.

    python docs/scripts/explain_limits.py

Performance depends on cores and clock, and noise of each machine hides 20 % of its variance. For
each table a model is fitted to 70 % of the machines and tested on the others. Two truths are known:
the share that this fit explains of 4,000 further machines, and the mean of such shares over fits to
other machines. The table is that of `docs/how-to/explain_variation.md`.
"""

from typing import Any, Final

import numpy as np
import pandas as pd

import perfarray
from perfarray.machines.models import boosted
from perfarray.machines.numerics.shares import explained_shares

TABLES: Final = 200
NEW: Final = 4000
PREDICTORS: Final = ["cores", "cpu_mhz", "memory_gb"]


def machines(number: int, chance: np.random.Generator) -> pd.DataFrame:
    """Return machines whose log performance grows with the logs of cores and clock; memory has no
    influence."""
    cores, mhz = 2.0 ** chance.integers(0, 7, number), chance.uniform(2000, 5000, number)
    log = 0.25 * np.log(cores) + np.log(mhz / 1000) + 0.22 * chance.standard_normal(number)
    columns = {
        "machine": np.arange(number),
        "cores": cores,
        "cpu_mhz": mhz,
        "memory_gb": 2.0 ** chance.integers(3, 9, number),
    }
    return pd.DataFrame(columns | {"performance": np.exp(log)})


def least_squares(rows: pd.DataFrame, target: Any) -> Any:
    """Return the predictions of a linear model as a function."""

    def design(table: pd.DataFrame) -> Any:
        return np.column_stack([np.ones(len(table)), table[PREDICTORS]])

    coefficients = np.linalg.lstsq(design(rows), target, rcond=None)[0]
    return lambda table: design(table) @ coefficients


def shares(predict: Any, rows: pd.DataFrame, mean: float, chance: np.random.Generator) -> Any:
    """Return the shares of a fit on rows that it did not see, with limits.

    A row counts by its own loss and by that of the row that gets its value.
    """
    target = np.log(rows["performance"].to_numpy())
    errors = (target - predict(rows)) ** 2
    orders = [chance.permutation(len(rows)) for _ in PREDICTORS]
    permuted = [
        rows.assign(**{name: rows[name].to_numpy()[order]})
        for name, order in zip(PREDICTORS, orders, strict=True)
    ]
    losses = np.array([(target - predict(table)) ** 2 - errors for table in permuted])
    elsewhere = np.take_along_axis(losses, np.argsort(orders), axis=-1)
    joint = losses + elsewhere - losses.mean(axis=-1, keepdims=True)
    units = np.arange(len(rows))
    return explained_shares(errors, (target - mean) ** 2, joint, units, 0.95, chance)[1]


def coverage(model: str, tested: int, tables: int = TABLES) -> tuple[float, float, float]:
    """Return how often the limits of the clock's share hold that of this fit, and of fits to other
    machines; and by default splits."""
    limits, truths, defaults = [], [], []
    fitted = round(tested * 7 / 3)
    for seed in range(tables):
        chance = np.random.default_rng([seed, tested])
        table = machines(fitted + tested, chance)
        rows, target = table[:fitted], np.log(table["performance"][:fitted].to_numpy())
        predict = (
            boosted(rows, target, PREDICTORS, seed).predict
            if model == "boosting"
            else least_squares(rows, target)
        )
        answer = shares(
            predict, table[fitted:].reset_index(drop=True), float(target.mean()), chance
        )
        limits.append(answer[1:, 1])
        truths.append(shares(predict, machines(NEW, chance), float(target.mean()), chance)[0, 1])
        result = (
            perfarray.explain_variation(table, response="performance", model=model, rng=seed)
            .to_dataset()
            .sel(predictor="cpu_mhz")
        )
        defaults.append((float(result["explained_lower"]), float(result["explained_upper"])))
    of_fit = np.mean(
        [low <= truth <= high for (low, high), truth in zip(limits, truths, strict=True)]
    )
    mean = float(np.mean(truths))
    return float(of_fit), *(
        float(np.mean([low <= mean <= high for low, high in ends])) for ends in (limits, defaults)
    )


def main() -> None:
    """Print the coverage for models and numbers of machines."""
    print(
        "| model | machines fitted + tested | this fit | fits to other machines | the same, "
        "five splits |"
    )
    print("| --- | --- | ---: | ---: | ---: |")
    for model in ("boosting", "ols"):
        for tested in (9, 30):
            rates = " | ".join(f"{100 * rate:.0f} %" for rate in coverage(model, tested))
            print(f"| {model} | {round(tested * 7 / 3)} + {tested} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
