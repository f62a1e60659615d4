"""Sides that are one session each, with what varies between sessions from elsewhere:
`compare(between=)`."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.numerics.sessions import noise_of_sessions

SCRIPT = Path(__file__).parents[2] / "docs" / "scripts" / "sessions.py"
NAMES = [f"b{i}" for i in range(6)]
ADDED = ["session_standard_deviation", "session_df", "within_lower", "within_upper"]


def draw(rng, *, sessions, runs=4, common=0.5, between=0.03, within=0.005):
    """Draw timings (benchmark, session, execution) whose sessions move the benchmarks partly
    together."""
    moves = np.sqrt(common) * rng.standard_normal((1, sessions, 1)) + np.sqrt(
        1 - common
    ) * rng.standard_normal((6, sessions, 1))
    logs = between * moves + within * rng.standard_normal((6, sessions, runs))
    coords = {"benchmark": NAMES}
    return xr.DataArray(
        np.exp(logs),
        dims=("benchmark", "session", "execution"),
        coords=coords,
        attrs={"units": "s"},
        name="time",
    )


@pytest.fixture
def sides():
    rng = np.random.default_rng(1)
    return xr.concat([draw(rng, sessions=1) for _ in range(2)], "version").assign_coords(
        version=["old", "new"]
    )


@pytest.fixture
def history():
    return draw(np.random.default_rng(2), sessions=9)


def test_limits_hold_what_sessions_vary_by(sides, history):
    naive = sides.isel(session=0, drop=True).perf.compare("old")
    result = sides.perf.compare("old", between=history)
    noise = noise_of_sessions(history.values, 2)
    np.testing.assert_allclose(
        result["session_standard_deviation"].squeeze(), np.sqrt(noise.variance)
    )
    assert (result["session_df"] == 8).all()
    assert result.attrs["between"] == "session"
    np.testing.assert_allclose(result["within_lower"], naive["lower"])
    np.testing.assert_allclose(result["within_upper"], naive["upper"])
    assert (result["upper"] - result["lower"] > 3 * (naive["upper"] - naive["lower"])).all()
    assert result["suite_upper"] - result["suite_lower"] > 3 * (
        naive["suite_upper"] - naive["suite_lower"]
    )
    assert int((naive["verdict"] != "inconclusive").sum()) >= 3
    assert (result["verdict"] == "inconclusive").all()
    assert result["suite_verdict"].item() == "inconclusive"
    assert "one_session" not in [note.code for note in result.perf.notes()]


def test_two_sides_as_objects_and_a_dataset_of_sessions(sides, history):
    by_label = sides.perf.compare("old", between=history)
    new, old = (sides.sel(version=label, drop=True) for label in ("new", "old"))
    by_object = new.perf.compare(old, between=history.to_dataset())
    np.testing.assert_allclose(by_object["lower"], by_label["lower"].squeeze("version"))
    np.testing.assert_allclose(by_object["suite_lower"], by_label["suite_lower"].squeeze())


@pytest.mark.parametrize("sessions", ["build", "session"])
def test_histories_along_other_dims(sides, history, sessions):
    """Sessions of several machines are pooled by their degrees of freedom; a history has the
    differences of its neighbours."""
    renamed = history.rename(session=sessions)
    result = sides.perf.compare("old", between=renamed)
    assert result.attrs["between"] == sessions
    twice = xr.concat([renamed, renamed], "machine")
    pooled = sides.perf.compare("old", between=twice)
    np.testing.assert_allclose(
        pooled["session_standard_deviation"], result["session_standard_deviation"]
    )
    np.testing.assert_allclose(pooled["session_df"], 2 * result["session_df"])
    assert sessions == "session" or (result["session_df"] < 8).all()


def test_a_history_without_repetitions(sides, history):
    commits = (
        history.isel(execution=0, drop=True)
        .rename(session="commit")
        .assign_coords(commit=[f"c{i}" for i in range(9)])
    )
    single_runs = sides.isel(execution=[0])
    with warnings.catch_warnings(action="error"):
        result = single_runs.perf.compare("old", between=commits)
    assert (result["n"] == 1).all()
    assert result["lower"].notnull().all()
    assert result["within_lower"].isnull().all()


def test_stated_noise(sides):
    result = sides.perf.compare("old", between=(0.03, 8))
    np.testing.assert_allclose(result["session_standard_deviation"], 0.03)
    noisier = sides.perf.compare("old", between=(0.03, 1e12))
    assert (noisier["upper"] - noisier["lower"] < result["upper"] - result["lower"]).all()
    components = perfarray.from_components({"session": 0.03**2, "execution": 0.005**2})
    np.testing.assert_allclose(
        sides.perf.compare("old", between=components)["lower"], noisier["lower"], rtol=1e-5
    )


def test_components_that_were_estimated(sides, history):
    result = sides.perf.compare("old", between=history.perf.variance_components())
    expected = sides.perf.compare("old", between=history)
    np.testing.assert_allclose(
        result["session_standard_deviation"], expected["session_standard_deviation"], rtol=0.03
    )


def test_benchmarks_without_sessions_take_the_mean_of_the_others(sides, history):
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"no sessions of 2 benchmarks \('b4', 'b5'\)"
    ):
        result = sides.perf.compare("old", between=history.sel(benchmark=NAMES[:4]))
    full = sides.perf.compare("old", between=history)
    np.testing.assert_allclose(
        result["lower"].sel(benchmark=NAMES[:4]), full["lower"].sel(benchmark=NAMES[:4])
    )
    variances = noise_of_sessions(history.values[:4], 2).variance
    assert result["session_standard_deviation"].sel(benchmark="b5").item() == pytest.approx(
        np.sqrt(variances.mean())
    )


def test_prior_thresholds_pairs_and_lazy(sides, history):
    options = {"between": history, "prior": "suite", "threshold": {"b1": 0.2, ...: 0.01}}
    result = sides.perf.compare("old", **options)
    assert {*ADDED, "prior_df", "threshold"} <= set(result.data_vars)
    lazy = (
        sides.chunk({"benchmark": 2})
        .perf.compare("old", **options | {"between": history.chunk({"benchmark": 4})})
        .compute()
    )
    xr.testing.assert_allclose(lazy, result)
    pairs = sides.perf.pairwise(dim="version", between=history)
    one_way = pairs["lower"].sel(version="new", baseline="old").values
    np.testing.assert_allclose(
        one_way, sides.perf.compare("old", between=history)["lower"].sel(version="new").values
    )


@pytest.mark.parametrize("common", [0.0, 0.5])
def test_what_sessions_vary_by_is_moderated_but_for_what_moves_all(common):
    """Of independent benchmarks, three sessions are worth far more than two degrees of freedom; of
    ones that move together, hardly more."""
    few_sessions = draw(
        np.random.default_rng(4), sessions=3, common=0.0 if common == 0 else 1.0, within=1e-6
    )
    sides = draw(np.random.default_rng(5), sessions=1).isel(session=0, drop=True)
    old = draw(np.random.default_rng(6), sessions=1).isel(session=0, drop=True)
    plain, learned = (
        sides.perf.compare(old, between=few_sessions, prior=prior) for prior in (None, "suite")
    )
    assert (plain["session_df"] == 2).all()
    assert (learned["session_df"] > 3).all() if common == 0 else (learned["session_df"] < 2.5).all()
    assert learned["session_standard_deviation"].std() < plain["session_standard_deviation"].std()


def test_one_benchmark_takes_its_own_sessions(sides, history):
    alone = sides.sel(benchmark="b3").perf.compare("old", between=history)
    suite_verdicts = sides.perf.compare("old", between=history).sel(benchmark="b3")
    np.testing.assert_allclose(alone["lower"], suite_verdicts["lower"])
    assert alone["suite_lower"].item() == pytest.approx(alone["lower"].item())


def test_two_sessions_are_few(sides, history):
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="has two sessions. These 95 % intervals may hold the truth only 90 % of the time",
    ):
        sides.perf.compare("old", between=history.isel(session=[0, 1]))


def test_shipped_sessions_of_one_program_give_no_false_verdict():
    """Two of six verdicts on them are false without what sessions vary by."""
    pair = perfarray.load_dataset("aa_sessions")
    sessions = pair.rename(version="session").assign_coords(session=[0, 1])
    with warnings.catch_warnings(action="ignore"):
        naive, honest, learned = (
            pair.perf.compare("first", **options)
            for options in ({}, {"between": sessions}, {"between": sessions, "prior": "suite"})
        )
    assert int((naive["verdict"] != "inconclusive").sum()) == 2
    assert (honest["verdict"] == "inconclusive").all()
    assert (learned["verdict"] == "inconclusive").all()
    assert honest["suite_verdict"].item() == "inconclusive"


def test_one_run_a_side_has_no_width_within_its_session(sides, history):
    """The column that would be empty is left out."""
    with warnings.catch_warnings(action="ignore"):
        result = sides.isel(execution=[0]).perf.compare("old", between=history.isel(execution=[0]))
    assert result["lower"].notnull().all()
    assert result["within_lower"].isnull().all()
    assert "within one session" not in result.perf.table().columns


def test_table_and_picture_show_both_widths(sides, history):
    result = sides.perf.compare("old", between=history)
    assert "within one session" in result.perf.table().columns
    axes = result.perf.plot()
    assert len([bar for bar in axes.collections if bar.get_gid() == "within_lower"]) == 6
    assert "broad: within one session" in axes.get_xlabel()
    axes.figure.clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"between": (0.01,)}, "Give timings of several sessions"),
        ({"between": (-0.01, 5)}, "is above 0"),
        ({"between": (0.01, 5), "method": "bca"}, "method='bca' does not go with between="),
        ({"between": (0.01, 5), "statistic": "median"}, "does not go with between="),
        (
            {"between": (0.01, 5), "paired": "execution"},
            "paired='execution' does not go with between=",
        ),
    ],
    ids=str,
)
def test_refusals(sides, options, message):
    with pytest.raises(ValueError, match=message):
        sides.perf.compare("old", **options)


def test_sides_of_several_sessions_and_archives_of_one(sides, history):
    two = xr.concat([sides, sides], "session")
    with pytest.raises(ValueError, match="one session each, and these timings have 2"):
        two.perf.compare("old", between=history)
    with pytest.raises(ValueError, match="two sessions or more"):
        sides.perf.compare("old", between=history.isel(session=0))
    with pytest.raises(ValueError, match="none of the benchmarks compared"):
        sides.perf.compare("old", between=history.assign_coords(benchmark=list("uvwxyz")))


def test_programs_compared_with_themselves():
    """300 suites of six benchmarks, five earlier sessions: rows and suite stay near 5 %, and are
    wrong in most without them."""
    rng, false = np.random.default_rng(8), {True: [0, 0], False: [0, 0]}
    experiments = [
        [draw(rng, sessions=k).drop_vars("benchmark") for k in (1, 1, 5)] for _ in range(300)
    ]
    new, old, earlier = (
        xr.concat(systems, "experiment") for systems in zip(*experiments, strict=True)
    )
    for honest in false:
        options = {"between": earlier} if honest else {}
        result = new.isel(session=0, drop=True).perf.compare(
            old.isel(session=0, drop=True), **options
        )
        false[honest] = [
            float((result[name] != "inconclusive").mean()) for name in ("verdict", "suite_verdict")
        ]
    assert max(false[True]) < 0.09
    assert min(false[False]) > 0.5


def test_several_candidates_share_the_noise_of_sessions():
    """Each candidate has the answer that it has alone, with stated noise too."""
    rng = np.random.default_rng(3)
    samples = {
        name: rng.normal(mean, 0.1, 6)
        for name, mean in (("old", 10.0), ("new", 10.5), ("next", 11.0))
    }
    times = perfarray.from_samples(samples)
    together = times.perf.compare("old", between=(0.01, 5)).sel(version="next")
    alone = (
        times.sel(version=["old", "next"]).perf.compare("old", between=(0.01, 5)).squeeze("version")
    )
    for name in ("estimate", "lower", "upper", "session_df", "within_lower"):
        assert together[name].item() == alone[name].item()


def two_machines(timings, factor):
    """Return timings of two machines, the second of which varies `factor` times as much."""
    return xr.concat([timings, timings**factor], "machine").assign_coords(machine=["m0", "m1"])


def test_noise_of_each_machine_by_its_label(sides, history):
    machines, noisy = two_machines(sides, 1), two_machines(history, 2)
    result = machines.perf.compare("old", between=noisy)
    swapped = noisy.isel(machine=[1, 0])
    xr.testing.assert_identical(machines.perf.compare("old", between=swapped), result)
    xr.testing.assert_allclose(
        machines.isel(machine=[1]).perf.compare("old", between=swapped), result.isel(machine=[1])
    )
    np.testing.assert_allclose(
        machines.isel(machine=1).perf.compare("old", between=swapped)["lower"],
        result["lower"].isel(machine=1),
    )
    components = noisy.perf.variance_components()
    verdicts, permuted = (
        machines.perf.compare("old", between=noise)
        for noise in (components, components.isel(machine=[1, 0]))
    )
    xr.testing.assert_identical(verdicts, permuted)
    ratios = verdicts["session_standard_deviation"].sel(machine="m1") / verdicts[
        "session_standard_deviation"
    ].sel(machine="m0")
    np.testing.assert_allclose(ratios, 2, rtol=0.05)
    assert (verdicts["suite_upper"] - verdicts["suite_lower"]).diff("machine").item() > 0


def test_a_machine_without_sessions_takes_the_mean_of_the_others(sides, history):
    machines = two_machines(sides, 1).assign_coords(machine=["m0", "elsewhere"])
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"no sessions of 1 machine \('elsewhere'\)"
    ):
        result = machines.perf.compare("old", between=two_machines(history, 1))
    expected = sides.perf.compare("old", between=history)
    np.testing.assert_allclose(
        result["session_standard_deviation"].isel(machine=1), expected["session_standard_deviation"]
    )
    np.testing.assert_allclose(result["session_df"].isel(version=0, benchmark=0), [8, 16])


def test_noise_of_benchmarks_for_sides_that_name_none(sides, history):
    """Sessions are the same for all benchmarks: they are no more degrees of freedom."""
    alone = sides.isel(benchmark=0, drop=True)
    result = alone.perf.compare("old", between=history)
    assert result["session_df"].item() == 8
    assert result["session_standard_deviation"].item() ** 2 == pytest.approx(
        noise_of_sessions(history.values, 2).variance.mean()
    )
    with pytest.raises(ValueError, match="none of the benchmarks compared; it has 'b0', 'b1'"):
        alone.assign_coords(benchmark="other").perf.compare("old", between=history)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("sessions_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("form", ["timings", "components", "(sd, df)"])
@pytest.mark.parametrize("sides", [(1, 1), (1, 10), (3, 3), (10, 3)], ids=str)
@pytest.mark.parametrize(("sessions", "executions"), [(5, 3), (20, 10), (10, 1)])
@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0])
def test_designs_of_one_session_a_side(script, form, sides, sessions, executions, spread):
    """700 suites of eight benchmarks: at most 6 % of rows and suites are false but for chance, or
    there are no limits."""
    rng = np.random.default_rng([sessions, *sides])
    row, suite = script.of_design(
        rng, 700, script.Design(8, sessions, executions, sides, spread), [form]
    )[form]
    if form == "(sd, df)" and (spread == 0 or 1 in sides):
        assert np.isnan([row, suite]).all()
    else:
        assert row <= 7
        assert suite <= 8


def test_one_execution_of_which_nothing_is_known_has_no_limits(sides, history):
    """A stated noise of sessions does not hold what executions vary by: no limits, of rows and of
    the suite, and a note that says why."""
    single_run = sides.isel(execution=[0])
    components = history.perf.variance_components()
    for between in ((0.01, 8), perfarray.from_components({"session": 1e-4})):
        with pytest.warns(
            perfarray.PerfarrayWarning, match="does not say how the executions of one session vary"
        ):
            result = single_run.perf.compare("old", between=between)
        assert result["lower"].isnull().all()
        assert result["suite_lower"].isnull().all()
        assert (result["verdict"] == "inconclusive").all()
    for between in (
        history,
        components,
        perfarray.from_components({"session": 1e-4, "execution": 1e-4}),
    ):
        with warnings.catch_warnings(action="error"):
            result = single_run.perf.compare("old", between=between)
        assert result["lower"].notnull().all()
        assert result["suite_lower"].notnull().all()
    one_side = sides.sel(version="new").isel(execution=[0])
    with pytest.warns(perfarray.PerfarrayWarning, match="rest on one execution on a side"):
        mixed = one_side.perf.compare(sides.sel(version="old", drop=True), between=(0.01, 8))
    assert mixed["lower"].isnull().all()


def test_components_of_merged_levels_are_refused(sides, history):
    """Merged levels do not show how executions vary."""
    agreeing = history.isel(execution=0, drop=True) * xr.DataArray(
        [1, 1.001, 0.999, 1], dims="execution"
    )
    nested = agreeing.expand_dims(iteration=3, axis=-1) * xr.DataArray(
        [1, 1.1, 0.9], dims="iteration"
    )
    with pytest.raises(ValueError, match="merged levels"):
        sides.perf.compare("old", between=nested.perf.variance_components(negative="merge"))


def test_pooled_components_are_those_of_their_pilots(sides, history):
    """Two halves of a history have half as many degrees of freedom each, and the same variances of
    means and runs."""
    pilots = [half.perf.variance_components() for half in (history, history)]
    pooled = sides.perf.compare("old", between=perfarray.from_components(pilots))
    one_pilot = sides.perf.compare("old", between=pilots[0])
    np.testing.assert_allclose(
        pooled["session_standard_deviation"], one_pilot["session_standard_deviation"], rtol=1e-9
    )
    np.testing.assert_allclose(pooled["session_df"], 16)


def test_benchmarks_without_labels_and_other_dims_take_components(sides, history):
    bare = sides.drop_vars("benchmark").expand_dims(experiment=2)
    result = bare.perf.compare(
        "old",
        between=history.drop_vars("benchmark").expand_dims(experiment=2).perf.variance_components(),
    )
    expected = sides.perf.compare("old", between=history.perf.variance_components())
    np.testing.assert_allclose(result["lower"].isel(experiment=1), expected["lower"])


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("form", ["timings", "components", "given"])
def test_sides_of_one_build_and_one_session(form):
    """Builds and sessions inside them vary by 2 % each: a side that is one of each has both (11 to
    17 % false without the session)."""
    rng, count = np.random.default_rng(9), 1500

    def draw_builds(builds, sessions, runs):
        effects = ((count, builds, 1, 1), (count, builds, sessions, 1))
        logs = sum(
            0.02 * rng.standard_normal(shape) for shape in effects
        ) + 0.005 * rng.standard_normal((count, builds, sessions, runs))
        return xr.DataArray(
            np.exp(logs), dims=("benchmark", "binary", "session", "execution"), name="time"
        )

    new, old, earlier = draw_builds(1, 1, 4), draw_builds(1, 1, 4), draw_builds(8, 5, 4)
    between = {
        "timings": earlier,
        "components": earlier.perf.variance_components(),
        "given": perfarray.from_components(
            {"binary": 0.02**2, "session": 0.02**2, "execution": 0.005**2}
        ),
    }[form]
    result = new.perf.compare(old, between=between)
    assert 0.03 <= float((result["verdict"] != "inconclusive").mean()) <= 0.07


class TestBothKinds:
    """An archive in which some sides have several sessions, and others one: `between=` is added to
    the latter."""

    @pytest.fixture
    def archive(self):
        """Machines of four sessions, of one session, of one run, and of four sessions against
        one."""
        rng = np.random.default_rng(3)
        machines = [
            xr.concat([draw(rng, sessions=4, runs=3) for _ in range(2)], "version")
            for _ in range(4)
        ]
        times = xr.concat(machines, "machine").assign_coords(
            version=["old", "new"], machine=["several", "one", "single", "against"]
        )
        values = times.transpose("machine", "version", ...).copy()
        values[1:3, :, :, 1:] = values[2, :, :, :, 1:] = values[3, 1, :, 1:] = np.nan
        return values

    @pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
    def test_each_row_has_what_it_lacks(self, archive, history):
        """Rows of several sessions keep their limits, rows of one have those that they have alone;
        a pair of both is between these."""
        plain, added = (archive.perf.compare("old", between=between) for between in (None, history))
        for name in ("lower", "upper", "verdict", "suite_lower", "suite_upper", "df"):
            values, alone = added[name].sel(machine="several"), plain[name].sel(machine="several")
            assert values.equals(alone) or np.allclose(values, alone, rtol=1e-12)
            for machine in ("one", "single"):
                row = (
                    archive.sel(machine=[machine])
                    .isel(session=[0])
                    .perf.compare("old", between=history)
                )
                assert (added[name].sel(machine=[machine]).values == row[name].values).all(), (
                    name,
                    machine,
                )
        widths = [
            (result["upper"] - result["lower"]).sel(machine="against") for result in (plain, added)
        ]
        assert (widths[1] > widths[0]).all()
        assert added["session_df"].sel(machine="several").isnull().all()
        assert (added["session_df"].sel(machine="against") == 8).all()
        (note,) = [note for note in added.perf.notes() if note.code == "one_session"]
        assert (note.values["cells"], note.values["of"], note.aside) == (30, 48, True)
        assert note.message.startswith(
            "between= adds what sessions vary by where a side is one: 30 of 48 cells"
        )

    @pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
    def test_one_side_of_other_timings(self, archive, history):
        """Two objects have the same numbers; one of them may have no sessions at all."""
        new, old = (archive.sel(version=label, drop=True) for label in ("new", "old"))
        added = archive.perf.compare("old", between=history)
        np.testing.assert_allclose(
            new.perf.compare(old, between=history)["lower"].values,
            added["lower"].isel(version=0).values,
        )
        runs = new.isel(session=0, drop=True).sel(machine=["against"])
        result = runs.perf.compare(old.sel(machine=["against"]), between=history)
        np.testing.assert_allclose(
            result["lower"].values, added["lower"].sel(machine=["against"]).isel(version=0).values
        )

    @pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
    def test_all_forms(self, archive, history):
        """Components and a stated standard deviation are added to the same rows, and a prior learns
        as before."""
        plain = archive.perf.compare("old")
        for between in (history.perf.variance_components(), (0.03, 8)):
            added = archive.perf.compare("old", between=between)
            np.testing.assert_allclose(
                added["lower"].sel(machine="several"), plain["lower"].sel(machine="several")
            )
            assert (added["lower"].sel(machine="one") < plain["lower"].sel(machine="one")).all()
        learned = [
            archive.perf.compare("old", between=between, prior="suite")["lower"]
            for between in (None, history)
        ]
        np.testing.assert_allclose(
            learned[0].sel(machine="several"), learned[1].sel(machine="several")
        )

    def test_what_has_sessions_everywhere_needs_none(self, archive, history):
        """Nor is it known which sides of lazy timings are one session; named levels decide for all
        rows."""
        for times, options in (
            (archive.sel(machine=["several"]), {}),
            (archive, {"levels": ("session", "execution")}),
        ):
            with pytest.raises(
                ValueError, match="for sides that are one session each, and these timings have 4"
            ):
                times.perf.compare("old", between=history, **options)
        pytest.importorskip("dask.array")
        with pytest.raises(
            ValueError, match="for sides that are one session each, and these timings have 4"
        ):
            archive.chunk(machine=1).perf.compare("old", between=history)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_archives_of_both_kinds_have_the_level():
    """800 suites: rows and suites of each pair of kinds are false in 5 % but for chance, where
    sessions vary with `between=`."""
    spec = importlib.util.spec_from_file_location(
        "units_script", SCRIPT.with_name("units_of_cells.py")
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rng, kinds = np.random.default_rng(4), (script.SEVERAL, *script.SINGLE)
    pairs = [(kind, second) for kind in kinds for second in kinds] + [
        (script.SEVERAL, kind) for kind in script.UNSEEN
    ]
    times = script.archive(rng, 800, pairs)
    earlier = script.draw(rng, 800, script.SEVERAL)[..., :3]
    earlier = xr.DataArray(
        earlier,
        {"benchmark": times["benchmark"].values},
        ("experiment", *times.dims[3:]),
        attrs=times.attrs,
    )
    plain, added = (
        script.false_verdicts(perfarray.compare(times, "old", shared=(), **options))
        for options in ({}, {"between": earlier})
    )
    for rows, suites in ((plain[0][:9], plain[1][:9]), added):
        assert rows.max() < 7
        assert suites.max() < 5 + 4 * 100 * np.sqrt(0.05 * 0.95 / 800)
    assert plain[0][9:11].min() > 20  # what the note says is not in the answer
