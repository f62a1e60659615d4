"""Naming the culprit: `next_measurement` against plain bisection, in histories of nightly
measurements.

Every sixteenth of 480 commits was measured, five executions each; the noise between commits is 0.5
%, that between executions 1 %. One commit makes the program slower by 1, 2 or 4 %. Where
`change_points` finds that, both look for the commit; plain bisection takes the night that it names
for sure, measures the middle, and believes the nearer of both levels.
"""

import sys
import warnings

import numpy as np
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)

COMMITS, NIGHTS, EXECUTIONS, BETWEEN, WITHIN, MOST = 480, 16, 5, 0.005, 0.01, 60


class Program:
    """A program that becomes slower at one commit, and what was measured of it."""

    def __init__(self, step, rng):
        self.step, self.rng, self.culprit = (
            step,
            rng,
            int(rng.integers(8 * NIGHTS, COMMITS - 8 * NIGHTS)),
        )
        self.known, self.runs = {}, 0
        for commit in range(0, COMMITS, NIGHTS):
            self.measure(commit, EXECUTIONS)
        self.runs, self.commits = 0, 0

    def measure(self, commit, runs):
        """Return the logs of runs of one commit, and keep them."""
        level = np.log1p(self.step) * (commit >= self.culprit) + BETWEEN * self.rng.normal()
        own = level + WITHIN * self.rng.normal(size=runs)
        self.known.setdefault(commit, []).extend(own)
        self.runs, self.commits = self.runs + runs, getattr(self, "commits", 0) + 1
        return own

    def changes(self):
        """Return what is found in all that was measured."""
        names = sorted(self.known)
        size = max(map(len, self.known.values()))
        values = np.array(
            [
                np.pad(
                    np.exp(self.known[name]),
                    (0, size - len(self.known[name])),
                    constant_values=np.nan,
                )
                for name in names
            ]
        )
        return xr.DataArray(
            values, dims=("commit", "execution"), coords={"commit": names}
        ).perf.change_points()


def asked(program):
    """Return the culprit that is named, once it is sure; NaN where no change is left."""
    for _ in range(MOST):
        found = program.changes().perf.next_measurement(commits=range(COMMITS))
        if np.isnan(found["next"]):
            return float(found["culprit"])
        program.measure(int(found["next"]), int(found["runs"]))
    return float(found["culprit"])


def bisected(program, found, runs):
    """Return the culprit that plain bisection names."""
    night = int(found["commit"][found["change"].values][-1])
    before, after = (
        np.log(float(found["segment_mean"].sel(commit=commit)))
        for commit in (night - NIGHTS, night)
    )
    good, bad = night - NIGHTS, night
    while bad - good > 1:
        middle = (good + bad) // 2
        value = program.measure(middle, runs).mean()
        good, bad = (good, middle) if abs(value - after) < abs(value - before) else (middle, bad)
    return bad


def main(number):
    """Print a row for each step and way: share right, commits and runs measured."""
    warnings.simplefilter("ignore")
    print(
        "| step | histories | way | right | commits | runs |\n| --- | --- | --- | --- | --- | --- |"
    )
    for step in (0.01, 0.02, 0.04):
        rows = {"next_measurement": [], "bisection, 5 runs": [], "bisection, 20 runs": []}
        for seed in range(number):
            for way, made in rows.items():
                program = Program(step, np.random.default_rng(seed))
                found = program.changes()
                if int(found["change"].sum()) != 1:
                    continue
                named = (
                    asked(program)
                    if way == "next_measurement"
                    else bisected(program, found, int(way.split()[1]))
                )
                made.append((named == program.culprit, program.commits, program.runs))
        for way, made in rows.items():
            right, commits, runs = np.mean(made, axis=0)
            print(
                f"| {100 * step:.0f} % | {len(made)} | {way} | {100 * right:.0f} % | "
                f"{commits:.1f} | {runs:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
