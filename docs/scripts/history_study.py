"""Change points of simulated histories: false alarms, steps found, and where, beside other tools.

`python history_study.py stable [HISTORIES [OTHERS]]`, `... steps`, `... trends`, `... positions`,
`... watching`, `... spreads`, `... short`, `... slopes`: minutes each. The other tools are those
that are installed: apache-otava 0.8 (its command's defaults), asv 0.6 (`detect_steps`), ruptures
1.1 (PELT of means, penalty 2 sigma^2 log n, sigma from the differences of neighbours), and a
z-score over the last 100 commits (5 standard deviations, as conbench's default; and 3).

What counts: a step is found where a tool reports a change at most two commits away; what it reports
more than five commits from every step is a false alarm, and so is, in a history without a step,
every change. A trend without a step is scored as stable; a drift is no change.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import xarray as xr

import perfarray

RUNS, DAY, RUN = 5, 0.015, 0.02
"""Runs a commit; the standard deviations of days and runs, as shares of the mean: a commit's mean has 1.75 %."""

Finder = Callable[[np.ndarray], list[int]]


def noise(model: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the logs of runs (n, RUNS) of a stable history."""
    day, run = rng.normal(size=(n, 1)), RUN * rng.normal(size=(n, RUNS))
    if model == "nested":
        return DAY * day + run
    if model == "runs only":
        return run
    if model == "days only":
        return DAY * day + 1e-5 * run
    if model == "outlying days":
        return DAY * day + run + 0.15 * rng.normal(size=(n, 1)) * (rng.random((n, 1)) < 0.05)
    if model == "long tails":
        return DAY * rng.standard_t(2, size=(n, 1)) + run
    if model == "skew":
        return DAY * np.exp(day) + run
    if model == "modes":
        return 0.06 * (rng.random((n, 1)) < 0.3) + run
    if model == "unequal runs":
        return np.where(
            np.arange(RUNS) < rng.integers(1, RUNS + 1, size=(n, 1)), DAY * day + run, np.nan
        )
    if model == "one run, later five":
        return np.where(
            (np.arange(RUNS) < 1) | (np.arange(n)[:, None] >= n // 2), DAY * day + run, np.nan
        )
    share = float(model.removeprefix("AR "))
    slow = rng.normal(size=n + 50)
    for place in range(1, n + 50):
        slow[place] += share * slow[place - 1]
    return DAY * slow[50:, None] + run


MODELS = (
    "nested",
    "runs only",
    "days only",
    "outlying days",
    "long tails",
    "skew",
    "modes",
    "unequal runs",
    "one run, later five",
)
DEPENDENT = ("AR 0.1", "AR 0.3", "AR 0.6")


def ours(histories: list[np.ndarray], alpha: float) -> list[list[int]]:
    """Return the places found in histories of one length."""
    times = xr.DataArray(np.exp(np.stack(histories)), dims=("benchmark", "commit", "execution"))
    with warnings.catch_warnings(action="ignore"):
        found = perfarray.change_points(times, alpha=alpha, correction=None)
    return [np.flatnonzero(own).tolist() for own in found["change"].values]


def z_score(limit: float) -> Finder:
    """Return what compares each commit with the last hundred, and reports the first of those in a
    row that are outside."""

    def find(values: np.ndarray) -> list[int]:
        outside = [
            abs(values[t] - values[max(0, t - 100) : t].mean())
            > limit * values[max(0, t - 100) : t].std(ddof=1)
            for t in range(10, len(values))
        ]
        return [t + 10 for t, now in enumerate(outside) if now and not (t and outside[t - 1])]

    return find


def otava(values: np.ndarray) -> list[int]:
    """Apache Otava's rule: E-divisive in windows of 50, merged by Student's t at p = 0.001 (an
    array would not be cut into windows)."""
    from otava.analysis import compute_change_points

    return [change.index for change in compute_change_points(values.tolist())[0]]


def asv(values: np.ndarray) -> list[int]:
    """The steps of asv's regressions, before its threshold."""
    from asv.step_detect import detect_steps

    return [int(step[0]) for step in detect_steps(list(values))[1:]]


def pelt(values: np.ndarray) -> list[int]:
    """PELT of ruptures: least squares, BIC."""
    import ruptures

    variance = (1.4826 * np.median(np.abs(np.diff(values)))) ** 2 / 2
    found = ruptures.KernelCPD(kernel="linear", min_size=2).fit(values[:, None])
    return [int(end) for end in found.predict(pen=2 * variance * np.log(len(values)))[:-1]]


def others() -> dict[str, Finder]:
    """Return the other tools that are installed."""
    tools: dict[str, Finder] = {"z-score 5": z_score(5.0), "z-score 3": z_score(3.0)}
    for name, module, tool in (
        ("Otava", "otava.analysis", otava),
        ("asv", "asv.step_detect", asv),
        ("ruptures", "ruptures", pelt),
    ):
        try:
            __import__(module)
        except ImportError:
            print(name, "is not installed")
        else:
            tools[name] = tool
    return tools


def found_by_all(
    histories: list[np.ndarray], few: int, alphas: tuple[float, ...]
) -> Iterator[tuple[str, list[list[int]]]]:
    """Yield what every tool finds; the others, which take long, in the first `few` histories."""
    for alpha in alphas:
        blocks = [
            ours(histories[start : start + 250], alpha) for start in range(0, len(histories), 250)
        ]
        yield f"perfarray {alpha:g}", [places for block in blocks for places in block]
    for name, tool in others().items() if few else ():
        with warnings.catch_warnings(action="ignore"):
            yield name, [tool(np.exp(np.nanmean(history, axis=1))) for history in histories[:few]]


def stable(number: int = 2000, few: int = 100) -> None:
    """Print the share of stable histories with an alarm, and the alarms per 1,000 commits."""
    for n in (100, 1000):
        for model in (*MODELS, *DEPENDENT):
            rng = np.random.default_rng(n)
            histories = [noise(model, n, rng) for _ in range(number)]
            for name, found in found_by_all(histories, few * 100 // n if few else 0, (0.05,)):
                if found:
                    share, rate = (
                        np.mean([bool(places) for places in found]),
                        1000 * np.mean([len(places) for places in found]) / n,
                    )
                    print(
                        f"{n:5} {model:20} {name:16} any {share:.4f}  per 1,000 commits "
                        f"{rate:7.3f}  of {len(found)}",
                        flush=True,
                    )


def stepped(
    n: int, size: float, steps: int, model: str, rng: np.random.Generator
) -> tuple[np.ndarray, list[int]]:
    """Return a history with steps up or down at random, at least 15 commits from each other, and
    their places."""
    while True:
        places = np.sort(rng.integers(15, n - 15, size=steps))
        if np.all(np.diff(places) >= 15):
            break
    signs = rng.choice([-1, 1], size=steps)
    level = sum(
        sign * np.log1p(size) * (np.arange(n) >= place)
        for sign, place in zip(signs, places, strict=True)
    )
    return noise(model, n, rng) + np.asarray(level)[:, None], places.tolist()


def steps(number: int = 300, few: int = 100) -> None:
    """Print the share of steps found, how far away they were put, and the false alarms per 1,000
    commits."""
    for model in ("nested", "outlying days"):
        for size in (0.01, 0.02, 0.03, 0.05, 0.1):
            rng = np.random.default_rng(int(1000 * size))
            made = [stepped(300, size, 4, model, rng) for _ in range(number)]
            for name, found in found_by_all(
                [history for history, _ in made], few, (0.2, 0.05, 0.01)
            ):
                near = [
                    min((abs(place - own) for own in places), default=999)
                    for places, (_, true) in zip(found, made, strict=False)
                    for place in true
                ]
                far = [
                    min(abs(place - own) for place in true) > 5
                    for places, (_, true) in zip(found, made, strict=False)
                    for own in places
                ]
                error = np.mean([distance for distance in near if distance <= 10] or [np.nan])
                within = np.mean([distance <= 2 for distance in near])
                print(
                    f"{model:14} {size:5.0%} {name:16} found {within:.3f}  within ten "
                    f"{np.mean([d <= 10 for d in near]):.3f}  "
                    f"mean distance {error:.2f}  false per 1,000 "
                    f"{1000 * sum(far) / (300 * len(found)):.2f}",
                    flush=True,
                )


def trends(number: int = 500, few: int = 50) -> None:
    """Print what is reported of histories that drift by some percent in all, without a step."""
    for whole in (0.0, 0.02, 0.05, 0.2):
        rng = np.random.default_rng(int(100 * whole))
        histories = [
            noise("nested", 200, rng) + np.linspace(0, np.log1p(whole), 200)[:, None]
            for _ in range(number)
        ]
        for name, found in found_by_all(histories, few, (0.05,)):
            share, number_of = (
                np.mean([bool(places) for places in found]),
                np.mean([len(places) for places in found]),
            )
            print(
                f"drift of {whole:4.0%} {name:20} any {share:.3f}  per history {number_of:.2f}",
                flush=True,
            )


def rates(logs: np.ndarray) -> tuple[float, float]:
    """Return the percentages of histories (histories, commits) with a change, and with a drift."""
    with warnings.catch_warnings(action="ignore"):
        found = perfarray.change_points(
            xr.DataArray(np.exp(logs)[..., None], dims=("benchmark", "commit", "execution")),
            correction=None,
        )
    return 100 * float(found["change"].any("commit").mean()), 100 * float(found["drifting"].mean())


def short(number: int = 2000) -> None:
    """Print how often a plain step is missed, and how often independent and correlated histories
    without one have a change."""
    designs = {"middle": 2, "late": 4}
    for n, size in ((12, 0.2), (16, 0.08), (20, 0.08), (30, 0.08), (60, 0.03)):
        rng = np.random.default_rng(n)
        logs = 0.015 * rng.normal(size=(number, n))
        missed = [
            f"{name} {100 - rates(logs + np.log1p(size) * (np.arange(n) >= n - n // part))[0]:.1f}"
            for name, part in designs.items()
        ]
        print(
            f"{n:3} commits, {size:+.0%}: missed {', '.join(missed)}; stable {rates(logs)[0]:.1f}",
            flush=True,
        )
    for n in (20, 60, 100, 200):
        walk = rates(0.01 * np.cumsum(np.random.default_rng(n).normal(size=(number, n)), axis=1))[0]
        slow = [
            rates(
                np.stack(
                    [noise(model, n, np.random.default_rng(row))[:, 0] for row in range(number)]
                )
            )[0]
            for model in DEPENDENT
        ]
        print(
            f"{n:3} commits: random walk {walk:.1f}, "
            f"{', '.join(f'{m} {rate:.1f}' for m, rate in zip(DEPENDENT, slow, strict=True))}",
            flush=True,
        )


def slopes(number: int = 1000) -> None:
    """Print how often slopes, and a staircase of four steps, are cut, and how often they are called
    a drift."""
    for n in (20, 60, 100, 200):
        for total in (4, 10):
            logs = 0.015 * (
                np.random.default_rng(n).normal(size=(number, n)) + total * np.linspace(0, 1, n)
            )
            print(
                f"{n:3} commits, slope of {total} SD: change {rates(logs)[0]:.1f}, drift "
                f"{rates(logs)[1]:.1f}",
                flush=True,
            )
    for n in (100, 200):
        stairs = np.log1p(0.04) * np.floor(np.arange(n) / (n / 5))
        found = ours(
            list((0.015 * np.random.default_rng(n).normal(size=(number, n)) + stairs)[..., None]),
            0.05,
        )
        near = [
            min((abs(place - step) for place in places), default=n) <= 2
            for places in found
            for step in range(n // 5, n, n // 5)
        ]
        print(f"{n:3} commits, four steps of 4 %: found {100 * np.mean(near):.1f}", flush=True)


def positions(number: int = 1000) -> None:
    """Print how often the set of commits and the interval hold the truth, for one step in the
    middle half of 100 commits."""
    for model in ("nested", "outlying days", "long tails", "AR 0.3"):
        for size in (0.02, 0.03, 0.05, 0.1):
            rng = np.random.default_rng(int(1000 * size))
            places = rng.integers(25, 75, size=number)
            logs = np.stack(
                [
                    noise(model, 100, rng) + np.log1p(size) * (np.arange(100) >= place)[:, None]
                    for place in places
                ]
            )
            with warnings.catch_warnings(action="ignore"):
                found = perfarray.change_points(
                    xr.DataArray(np.exp(logs), dims=("benchmark", "commit", "execution")),
                    correction=None,
                )
            inside, covered, width = [], [], []
            for row, place in enumerate(places):
                own = found.isel(benchmark=row)
                near = [c for c in np.flatnonzero(own["change"]) if abs(c - place) <= 25]
                if near:
                    change = own.isel(commit=min(near, key=lambda c: abs(c - place)))
                    inside.append(float(change["earliest"]) <= place <= float(change["latest"]))
                    width.append(float(change["latest"] - change["earliest"]) + 1)
                    covered.append(float(change["lower"]) <= 1 + size <= float(change["upper"]))
            print(
                f"{model:14} {size:4.0%} found {len(inside) / number:.3f}  commit in its set "
                f"{np.mean(inside):.3f} (median of "
                f"{np.median(width):.0f} commits)  ratio in its interval {np.mean(covered):.3f}",
                flush=True,
            )


def watching(number: int = 200) -> None:
    """Print the alarms per 1,000 commits of stable histories that are watched, and after how many
    commits a step at commit 100 is seen."""

    def alarms(histories: list[np.ndarray]) -> list[list[int]]:
        times = xr.DataArray(np.exp(np.stack(histories)), dims=("benchmark", "commit", "execution"))
        with warnings.catch_warnings(action="ignore"):
            found = perfarray.change_points(times, online=True)
        return [np.flatnonzero(own).tolist() for own in found["alarm"].values]

    def scores(limit: float, histories: list[np.ndarray]) -> list[list[int]]:
        return [z_score(limit)(np.exp(np.nanmean(own, axis=1))) for own in histories]

    tools = {
        "perfarray online": alarms,
        "z-score 3": partial(scores, 3.0),
        "z-score 5": partial(scores, 5.0),
    }
    for model in (*MODELS, *DEPENDENT):
        rng = np.random.default_rng(1)
        histories = [noise(model, 500, rng) for _ in range(number)]
        rates = {
            name: 2 * np.mean([len(own) for own in tool(histories)]) for name, tool in tools.items()
        }
        print(
            f"{model:20} alarms per 1,000: "
            + "  ".join(f"{name} {rate:.2f}" for name, rate in rates.items()),
            flush=True,
        )
    for model in ("nested", "outlying days"):
        for size in (0.02, 0.03, 0.05, 0.1):
            rng = np.random.default_rng(2)
            histories = [
                noise(model, 150, rng) + np.log1p(size) * (np.arange(150) >= 100)[:, None]
                for _ in range(number)
            ]
            for name, tool in tools.items():
                after = [
                    next((place - 99 for place in own if place >= 100), 999)
                    for own in tool(histories)
                ]
                within = [np.mean(np.array(after) <= limit) for limit in (5, 10, 50)]
                print(
                    f"{model:14} {size:4.0%} {name:16} seen within 5, 10, 50: {within}, median "
                    f"after {np.median(after):.0f} commits",
                    flush=True,
                )


def spreads(number: int = 2000, n: int = 100) -> None:
    """Print the share of stable histories with a change, and the alarms per 1,000 commits, where
    the spread changes."""
    middle, end = np.arange(n) >= n // 2, np.arange(n) >= n - n // 5
    designs = {
        "the same": 0.0 * middle,
        "twice": 1.0 * middle,
        "four times": 3.0 * middle,
        "three times in the last fifth": 2.0 * end,
    }
    for name, more in designs.items():
        logs = 0.01 * np.random.default_rng(n).normal(size=(number, n)) * (1 + more)
        times = xr.DataArray(np.exp(logs)[..., None], dims=("benchmark", "commit", "execution"))
        with warnings.catch_warnings(action="ignore"):
            found = times.perf.change_points(correction=None)
            alarms = times[: max(number // 7, 1)].perf.change_points(online=True)["alarm"]
        uneven = found["relative_noise"].max("commit") > found["relative_noise"].min("commit")
        print(
            f"{name:30} any {float(found['change'].any('commit').mean()):.3f}  alarms per "
            f"1,000 {1000 * float(alarms.mean()):.2f}  "
            f"spread told {float(uneven.mean()):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(int, sys.argv[2:]))
