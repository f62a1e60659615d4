"""Prices that the data state: what taking a value, starting an execution cost, as files say, and
plans that fit the budget by them."""

import warnings
from datetime import datetime, timedelta

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray import plan_repetitions
from readers.files_of_our_own import bench, entry, run, suite, write
from shared_material import ARCHIVES, needs_archives

LOOPS, START, OWN = 1000, 0.25, 0.03


def pyperf_file(path, unit="second", **fields):
    """Ten processes of three values and a warm-up, 1000 loops of some 100 us; a process starts in
    0.25 s and spends 0.03 s of its own."""
    rng, date, runs = np.random.default_rng(3), datetime(2026, 1, 1), []
    for effect in rng.normal(0, 2e-6, 10):
        values = 1e-4 + effect + rng.normal(0, 2e-6, 4)
        duration = LOOPS * values.sum() + OWN
        date += timedelta(seconds=START + duration)
        runs.append(
            run(
                *values[1:],
                warmups=[(LOOPS, values[0])],
                loops=LOOPS,
                duration=duration,
                date=str(date),
            )
        )
    return perfarray.read(write(path, suite(bench("fft", *runs, unit=unit, **fields))))


@pytest.fixture(scope="module")
def fft(tmp_path_factory):
    return pyperf_file(tmp_path_factory.mktemp("pyperf") / "fft.json")


def one_value(times, loops=LOOPS):
    """Return the seconds that a value takes."""
    return loops * times["time"].where(~times["warmup"]).mean().item()


def plan_and_notes(times, **keywords):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = plan_repetitions(times, **keywords)
    return plan, [note for warning in caught for note in warning.message.notes]


class TestPyperf:
    def test_a_plan_fits_the_budget_when_carried_out(self, fft):
        """A value costs its loops, an execution its start and warm-up: carried out, the plan takes
        the budget, not 1000 times as long."""
        plan, notes = plan_and_notes(fft, budget=60.0, cost_units="s")
        (processes, values), value_price = plan["repetitions"].values.ravel(), one_value(fft)
        spent = processes * (START + OWN + value_price * (1 + values))
        assert spent == pytest.approx(plan["cost"].item(), rel=0.01)
        assert 0.97 * 60 < spent < 60 * 1.01
        assert [note.code for note in notes] == ["stated_prices"]
        np.testing.assert_allclose(notes[0].values["iteration"], value_price)
        np.testing.assert_allclose(
            notes[0].values["execution"], START + OWN + value_price, rtol=0.01
        )

    @pytest.mark.parametrize("by_label", [True, False])
    def test_a_baseline_has_its_own_prices(self, tmp_path, by_label):
        """Both systems cost what their files say: 1000 loops a value here, 8000 there."""
        sides = [pyperf_file(tmp_path / f"{inner}.json", inner_loops=inner) for inner in (1, 8)]
        versions = perfarray.read_archive(
            {"new": tmp_path / "1.json", "old": tmp_path / "8.json"}, dim="version"
        )
        times, baseline = (versions, "old") if by_label else sides
        plan, notes = plan_and_notes(times, baseline=baseline, budget=600.0, cost_units="s")
        spent, (processes, values) = 0.0, plan["repetitions"].values.ravel()
        for side, inner in zip(sides, (1, 8), strict=True):
            spent += processes * (
                float(side["execution_seconds"].mean()) + one_value(side, inner * LOOPS) * values
            )
            assert (
                np.unique(side["loops"]) == inner * LOOPS
            )  # a value is of one inner loop: it took so many of them
        assert spent == pytest.approx(plan["cost"].item(), rel=1e-6)
        assert 0.95 * 600 < spent <= 600
        assert [note.code for note in notes] == ["stated_prices"]

    @pytest.mark.parametrize("fields", [{"iteration": 1.0}, {}])
    def test_prices_given_win_and_are_not_told(self, fft, fields):
        """Nor is what an iteration takes, which is no assumption: a value costs its loops."""
        plan, notes = plan_and_notes(
            fft, budget=60.0, cost_units="s", costs={"execution": 5.0} | fields
        )
        processes, values = plan["repetitions"].values.ravel()
        assert notes == []
        assert plan["cost"].item() == pytest.approx(
            processes * (5.0 + fields.get("iteration", one_value(fft)) * values)
        )

    def test_iterations_as_the_unit(self, fft):
        """What the file says in seconds is so many iterations."""
        _, notes = plan_and_notes(fft, budget=600.0)
        np.testing.assert_allclose(
            notes[0].values["execution"], (START + OWN) / one_value(fft) + 1, rtol=0.02
        )
        assert "iteration" not in notes[0].values

    def test_float32_and_lazy_alike(self, fft):
        """The same plan, and of a lazy one nothing is computed before it is wanted."""
        dask = pytest.importorskip("dask")
        plan, _ = plan_and_notes(fft, budget=60.0, cost_units="s")
        narrow, _ = plan_and_notes(fft.astype("float32"), budget=60.0, cost_units="s")
        np.testing.assert_array_equal(plan["repetitions"], narrow["repetitions"])
        with dask.config.set(scheduler=lambda *_args, **_keywords: pytest.fail("computed")):
            lazy, notes = plan_and_notes(fft.chunk(benchmark=1), budget=60.0, cost_units="s")
        assert notes[0].values["iteration"] == []
        np.testing.assert_array_equal(lazy.compute()["repetitions"], plan["repetitions"])

    def test_without_durations_warm_ups_are_the_price(self, tmp_path):
        """And without loops or warm-ups nothing is known: the message asks."""
        runs = [run(1.0 + k / 100, 1.1, warmups=[(2, 1.5)], loops=2) for k in range(5)]
        times = perfarray.read(write(tmp_path / "warm.json", suite(bench("fft", *runs))))
        assert times["execution_seconds"].values.tolist() == [3.0] * 5
        bare = perfarray.read(
            write(
                tmp_path / "bare.json",
                suite(bench("fft", *(run(1.0 + k / 100, 1.1) for k in range(5)))),
            )
        )
        assert "loops" not in bare.coords
        with pytest.raises(ValueError, match="costs= has no price for 'execution'"):
            plan_repetitions(bare, budget=60.0, cost_units="s")

    def test_set_up_of_every_value_is_part_of_its_price(self, tmp_path):
        """A run that takes twice its loops prepares each value: more values cost more of that, not
        more processes."""
        runs = [
            run(1.0 + k / 100, 1.0, warmups=[(1, 1.0)], loops=1, duration=6.0) for k in range(5)
        ]
        times = perfarray.read(write(tmp_path / "set_up.json", suite(bench("fft", *runs))))
        assert (
            times["iteration_seconds"].values.tolist()
            == times["execution_seconds"].values.tolist()
            == [2.0] * 5
        )

    def test_one_place_for_each_file(self, tmp_path):
        """Files of one process each, told apart by their names: the coordinates lie along
        `execution` once."""
        for k in range(4):
            write(
                tmp_path / f"{k}.json",
                suite(bench("fft", run(1.0 + k, 1.1, loops=2, duration=4.4 + 2 * k))),
            )
        times = perfarray.read_archive(tmp_path, layout="{execution}.json")
        assert times["loops"].dims == ("execution",)
        assert times.perf.merge_level("execution")["loops"].dims == ("iteration",)

    def test_comparisons_show_none_of_it(self, fft):
        """The prices lie along executions: no result without that dim has them."""
        assert not {"loops", "execution_seconds"} & set(fft.perf.mean_interval().coords)

    @needs_archives
    def test_ten_minutes_are_ten_minutes(self):
        """A genuine file: 0.158 s a value, not 302 ns."""
        times = perfarray.read(ARCHIVES / "pyperf" / "moreati_counter-top" / "py36.json")
        plan, notes = plan_and_notes(times, budget=600.0, cost_units="s")
        assert 0.1 < min(notes[0].values["iteration"]) < max(notes[0].values["iteration"]) < 0.25
        assert (plan["repetitions"].sel(level="execution") < 600 / 0.2).all()


DATA = ((1.0, 1.1), (1.2, 1.1), (1.3, 1.25), (1.1, 1.0), (0.9, 1.0))


class TestJmh:
    def read(self, path, **keywords):
        settings = {
            "warmupIterations": 3,
            "warmupTime": "500 ms",
            "measurementIterations": 2,
            "measurementTime": "2 s",
        }
        return perfarray.read(write(path, [entry(data=DATA, **(settings | keywords))]))

    @pytest.mark.parametrize(("unit", "mode"), [("ns/op", "avgt"), ("ops/us", "thrpt")])
    def test_a_plan_fits_the_budget_when_carried_out(self, tmp_path, unit, mode):
        """An iteration takes its measurement time, a fork its warm-up: a time and a throughput
        alike."""
        plan, notes = plan_and_notes(
            self.read(tmp_path / "copy.json", unit=unit, mode=mode), budget=600.0, cost_units="s"
        )
        forks, iterations = plan["repetitions"].values.ravel()
        spent = forks * (3 * 0.5 + 2.0 * iterations)
        assert spent == plan["cost"].item()
        assert 0.97 * 600 < spent <= 600
        assert [notes[0].values[level] for level in ("execution", "iteration")] == [
            [1.5, 1.5],
            [2.0, 2.0],
        ]

    def test_an_operation_longer_than_the_measurement_time(self, tmp_path):
        """It is finished: the iteration takes as long as it."""
        times = self.read(
            tmp_path / "slow.json", unit="s/op", measurementTime="100 ms", warmupTime="100 ms"
        )
        mean = np.mean(DATA)
        np.testing.assert_allclose(times["iteration_seconds"], mean)
        np.testing.assert_allclose(times["execution_seconds"], 3 * mean)

    def test_single_shots_cost_themselves(self, tmp_path):
        times = self.read(
            tmp_path / "shot.json",
            unit="ms/op",
            mode="ss",
            measurementTime="single-shot",
            warmupTime="single-shot",
        )
        np.testing.assert_allclose(times["iteration_seconds"], np.mean(DATA) / 1000)

    def test_a_file_that_does_not_say(self, tmp_path):
        """Of throughputs nothing is known then: the message asks."""
        path = write(tmp_path / "bare.json", [entry(data=DATA, unit="ops/s", mode="thrpt")])
        with pytest.raises(ValueError, match="costs= has no price for 'execution'"):
            plan_repetitions(perfarray.read(path), budget=600.0, cost_units="s")


class TestGeneric:
    def times(self, **coords):
        values = 1.0 + np.arange(6.0).reshape(3, 2) / 100
        return xr.DataArray(
            values,
            dims=("execution", "iteration"),
            name="time",
            attrs={"units": "s"},
            coords=coords,
        )

    def suite(self, **coords):
        return xr.concat([self.times(), self.times() * 2], "benchmark").assign_coords(
            benchmark=["a", "b"], **coords
        )

    def test_any_reader_may_set_them(self):
        """`loops` of some runs only counts as 1 elsewhere; the note says what one iteration
        takes."""
        times = self.times(loops=("execution", [2.0, 2.0, np.nan]), execution_seconds=7.0)
        _, notes = plan_and_notes(times, budget=600.0, cost_units="s")
        values = times.values * [[2], [2], [1]]
        np.testing.assert_allclose(notes[0].values["iteration"], values.mean())
        assert notes[0].values["execution"] == [7.0, 7.0]

    def test_executions_without_iterations(self):
        """The start is part of the lowest level's price."""
        times = self.times(execution_seconds=("execution", [7.0, 8.0, 9.0])).isel(iteration=0)
        plan, notes = plan_and_notes(times, budget=600.0, cost_units="s")
        np.testing.assert_allclose(notes[0].values["execution"], 8.0 + times.values.mean())
        assert plan["repetitions"].item() == 600 // (8.0 + times.values.mean())

    def test_a_gap_is_named(self):
        times = self.suite(execution_seconds=("benchmark", [1.0, np.nan]))
        with pytest.raises(
            ValueError,
            match="do not say what one more execution takes in 'b'; give it in costs, in s",
        ):
            plan_repetitions(times, budget=600.0, cost_units="s")

    def test_a_suite_is_priced_alike(self):
        times = self.suite(loops=("execution", [3, 3, 3]), execution_seconds=1.0)
        with pytest.warns(perfarray.PerfarrayWarning) as caught:
            plan = perfarray.plan_suite(times, shared="execution", budget=600.0)
        assert [note.code for note in caught[0].message.notes] == ["stated_prices"]
        expected = (
            plan["repetitions"].isel(level=0)
            * plan["repetitions"].isel(level=1)
            * 3
            * times.mean(("execution", "iteration"))
        )
        np.testing.assert_allclose(plan["seconds"], expected)
