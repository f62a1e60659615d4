"""What explains performance or its variation: columns of the table, and sentences."""

from collections.abc import Callable

import xarray as xr

from perfarray.conventions import MACHINE
from perfarray.results.words import (
    NOTHING,
    Cell,
    Columns,
    digits_of,
    percent,
    percent_between,
    places_of_shares,
    quantity_between,
)

# Predictors that the first sentence names
NAMED = 3


def explained(data: xr.Dataset) -> Columns:
    """Show what each predictor explains, and its coefficients in a linear model."""

    def limited(name: str, limits: str) -> Callable[[Cell], str]:
        names = (name, f"{limits}lower", f"{limits}upper")
        digits = digits_of(*(data[name].values for name in names))

        def text(cell: Cell) -> str:
            value, lower, upper = (cell[name] for name in names)
            return quantity_between(value, lower, upper, "1", digits)

        return text

    places = places_of_shares(data["explained_lower"].values, data["explained_upper"].values)

    columns: Columns = {
        "explains": lambda cell: percent_between(
            cell["explained"], cell["explained_lower"], cell["explained_upper"], places=places
        ),
        # Without predictive power it divides up noise.
        "influence": lambda cell: (
            percent(round(cell["influence"] / 100, 4))
            if data.attrs["better_than_mean"]
            else NOTHING
        ),
    }
    if "standardized_coefficient" in data:
        columns["standardised coefficient"] = limited("standardized_coefficient", "standardized_")
        columns["coefficient"] = limited("unit_coefficient", "unit_")
    return columns


def findings(data: xr.Dataset) -> list[str]:
    """Write in sentences what explains the response, and how much all predictors do together."""
    response, tests = str(data.attrs["response"]).replace("_", " "), _tests(data)
    if bool(data["total_explained_lower"].isnull()):
        return [f"{tests} were tested, too few to tell what explains {response} from chance."]
    if not data.attrs["better_than_mean"]:
        return [
            (
                f"No predictor explains {response}: the model predicts no better than the mean for "
                f"{tests} that the fit did not see."
            )
        ]
    surely = data.isel(predictor=((data["lower"] > 0) & (data["explained_lower"] > 0)).values)
    order = surely["explained"].argsort().values[::-1][:NAMED]
    values = (surely[f"explained{end}"].values[order].tolist() for end in ("", "_lower", "_upper"))
    names = [str(name) for name in surely["predictor"].values[order]]
    texts = [percent_between(*limits) for limits in zip(*values, strict=True)]
    if not texts:
        sentences = [
            f"No single predictor surely explains {response}, since others can replace it."
        ]
    else:
        share, _, limits = texts[0].partition(" (")
        spread = "variance" if "variation" in response else "variation"
        first = (
            f"{names[0]} explains {share} of the {spread} of {response} between machines ({limits}"
        )
        clauses = [f"{name} {text}" for name, text in zip(names[1:], texts[1:], strict=True)]
        sentences = [", ".join([first, *clauses]) + "."]
    count = data.sizes["predictor"]
    if count > 1:
        total = percent_between(
            *(float(data[f"total_explained{end}"]) for end in ("", "_lower", "_upper"))
        )
        sentences.append(
            f"{'Both' if count == 2 else f'All {count}'} predictors together explain {total} "
            f"for {tests} that the fit did not see."
        )
    ceiling = float(data["noise_ceiling"]) ** 2
    if ceiling < 1:
        sentences.append(
            f"No model could explain more than about {percent(ceiling)}, since {response} is "
            "estimated from few runs."
        )
    return sentences


def _tests(data: xr.Dataset) -> str:
    """Write the number of machines, or of what else stays together, that were tested."""
    groups, number = str(data.attrs["groups"]), data.attrs["n_test_units"]
    return f"{number} machines" if groups in ("none", MACHINE) else f"{number} labels of {groups}"


def explained_remarks(data: xr.Dataset) -> list[str]:
    """Write the correlation on held-out rows, what a test keeps together, and columns left out."""
    clauses = []
    if "correlation" in data:
        estimate, lower, upper = (
            float(data[f"correlation{end}"]) for end in ("", "_lower", "_upper")
        )
        clauses.append(
            f"correlation {quantity_between(estimate, lower, upper, '1')} of measured and "
            "predicted on rows not fitted"
        )
    groups, left_out = str(data.attrs.get("groups", "none")), str(data.attrs.get("left_out", ""))
    clauses += [] if groups == "none" else [f"rows of one {groups} stay together"]
    return clauses + (
        [f"left out (constant, empty, copies, or labels of rows): {left_out}"] if left_out else []
    )
