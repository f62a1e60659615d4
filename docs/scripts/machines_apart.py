"""How often a model that explains nothing is called better than the mean, where a table has several
rows a machine.

    python docs/scripts/machines_apart.py

The response is a random number of each machine with 1 % of noise; clock, cores and settings have no
influence. Rows at random test a model on machines that it has seen. The table is that of
`docs/how-to/explain_variation.md`.
"""

from typing import Any, Final

import numpy as np
import pandas as pd

import perfarray

TABLES: Final = 60
CHOICES: Final[dict[str, dict[str, Any]]] = {
    "boosting": {},
    "boosting, 5 folds": {"folds": 5},
    "least squares": {"model": "ols"},
    "mixed": {"model": "mixed"},
}


def runs(seed: int, machines: int, settings: int) -> pd.DataFrame:
    """Return a row for each setting of each machine."""
    chance = np.random.default_rng(seed)
    row = np.repeat(np.arange(machines), settings)
    columns = {
        "machine": [f"m{n}" for n in row],
        "setting": np.tile([f"s{n}" for n in range(settings)], machines),
    }
    columns |= {
        "cpu_mhz": chance.uniform(2000, 4000, machines)[row],
        "cores": 2.0 ** chance.integers(0, 7, machines)[row],
    }
    noise = chance.standard_normal(machines)[row] + 0.01 * chance.standard_normal(len(row))
    return pd.DataFrame(columns | {"performance": np.exp(noise)})


def share_better(machines: int, settings: int, tables: int, **keywords: Any) -> float:
    """Return the share of tables whose model is called better than the mean."""
    better = 0
    for seed in range(tables):
        model = perfarray.explain_variation(
            runs(seed, machines, settings), response="performance", rng=seed, **keywords
        )
        better += model.to_dataset().attrs["better_than_mean"]
    return better / tables


def main() -> None:
    """Print the shares for rows and for machines as what stays together, of tables of two sizes."""
    print("| model | machines x settings | each row by itself | machines stay together |")
    print("| --- | --- | ---: | ---: |")
    for name, keywords in CHOICES.items():
        for machines, settings in ((30, 5), (60, 2)):
            together = share_better(machines, settings, TABLES, **keywords)
            by_row = "-"  # the groups of a mixed model are its random effect
            if name != "mixed":
                share = share_better(machines, settings, TABLES, groups=None, **keywords)
                by_row = f"{100 * share:.1f} %"
            print(
                f"| {name} | {machines} x {settings} | {by_row} | {100 * together:.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
