"""A folder of reports of several suites: every answer goes suite by suite, in which each is what
its report alone has."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import SPEC_HARDWARE, spec_pair, spec_result, write
from shared_material import ARCHIVES, needs_archives
from strategies import MANY

INT, FP = ("400.alpha", "401.beta"), ("410.gamma", "411.delta")

SUITES = {
    "int2006_rate": ("SPECint_rate_base2006", INT, {"Box 1": (24, 30.0), "Box 2": (2, 20.0)}),
    "int2006_speed": ("SPECint_base2006", INT, {"Box 3": (4, 15.0), "Box 4": (4, 12.0)}),
    "fp2006_rate": ("SPECfp_rate_base2006", FP, {"Box 1": (24, 40.0)}),
}
"""Suite to its score, its benchmarks, and the copies and seconds of machines; one name stands for benchmarks of two suites."""

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


def report(suite, machine):
    """Return the report of one machine: three executions of each benchmark."""
    score, benchmarks, machines = SUITES[suite]
    copies, seconds = machines[machine]
    rows = [
        spec_pair(name, copies, seconds * (1 + 0.01 * number + 0.02 * k * (1 + number)), None, k)
        for number, name in enumerate(benchmarks, 1)
        for k in (1, 2, 3)
    ]
    return spec_result(
        rows, score=score, after=SPEC_HARDWARE.replace("Box 1 (Model 7, 2.10 GHz)", machine)
    )


@pytest.fixture(scope="module")
def report_folder(tmp_path_factory):
    """Where all reports lie."""
    path = tmp_path_factory.mktemp("reports")
    for suite, (_, _, machines) in SUITES.items():
        for machine in machines:
            write(path / f"{suite}-{machine[-1]}.csv", report(suite, machine))
    return path


@pytest.fixture(scope="module", params=["in memory", "lazy"])
def folder(request, report_folder):
    """All reports, read as one archive."""
    times = perfarray.read_archive(report_folder)
    if request.param == "lazy":
        pytest.importorskip("dask")
        return times.chunk({"machine": 1})
    return times


CALLS = {
    "suite_score": {},
    "five_number_summary": {"method": "exact"},
    "relative_variation": {},
    "score_distribution": {"rng": 1},
}


@pytest.mark.parametrize(("name", "choices"), CALLS.items())
@pytest.mark.parametrize("by", [None, "suite"] if MANY else [None])
def test_every_suite_has_the_answer_of_its_own_reports(folder, report_folder, name, choices, by):
    """Along a dim `suite`, with the machines that ran it; what a machine did not run is NaN, and
    machines keep their descriptors."""
    result = getattr(folder.perf, name)(by=by, **choices).compute()
    assert sorted(result["suite"].values) == sorted(SUITES)
    for suite, (_, _, machines) in SUITES.items():
        alone = getattr(perfarray.read_archive(str(report_folder / f"{suite}-*.csv")).perf, name)(
            **choices
        )
        for result_of_suite, expected in zip(
            *(variables(result) for result in (result.sel(suite=suite), alone)), strict=True
        ):
            np.testing.assert_allclose(
                result_of_suite.sel(machine=list(machines)).transpose(*expected.dims),
                expected.sel(machine=list(machines)),
            )
            assert (
                result_of_suite.dtype == bool
                or result_of_suite.drop_sel(machine=list(machines)).isnull().all()
            )
    assert result["machine"].values.tolist() == folder["machine"].values.tolist()
    copies = (
        result["copies"].drop_vars(list(result["copies"].coords))
        if "copies" in result.coords
        else None
    )
    assert copies is None or copies.values.tolist() == folder["copies"].values.tolist()


def variables(result):
    """Return the arrays of a result, with the score that a distribution carries; NaN where n is
    0."""
    if isinstance(result, xr.DataArray):
        return [result, result["suite_score"]]
    return [result[name] for name in result.data_vars if name != "n"]


def test_a_machine_table_names_the_suite(folder, report_folder):
    """One row for each machine and suite it ran, with the responses it has alone; one note says
    why."""
    table = folder.perf.machine_table()
    (note,) = [note for note in table.perf.notes() if note.code == "suites_apart"]
    assert note.message.startswith(
        "2 labels of 'benchmark' are benchmarks of several suites: each suite has its own answer"
    )
    rows = {(row.suite, row.machine): row for row in table.itertuples()}
    assert set(rows) == {
        (suite, machine) for suite, (_, _, machines) in SUITES.items() for machine in machines
    }
    for suite, machine in rows:
        alone = (
            perfarray.read(report_folder / f"{suite}-{machine[-1]}.csv")
            .perf.machine_table()
            .iloc[0]
        )
        assert rows[suite, machine].performance == pytest.approx(alone["performance"])
        assert rows[suite, machine].relative_variation == pytest.approx(alone["relative_variation"])
    pd.testing.assert_frame_equal(table, folder.perf.machine_table(by="suite"))


def test_components_and_clusters_go_suite_by_suite(folder, report_folder):
    """A suite of one machine has too little data: it is left out and named; where all have too
    little, that is an error."""
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"1 of 3 along 'suite' have too little data \('fp2006_rate'\)",
    ):
        components = folder.perf.principal_components().compute()
    assert set(components["suite"].values) == {"int2006_rate", "int2006_speed"}
    for suite in components["suite"].values:
        alone = perfarray.read_archive(
            str(report_folder / f"{suite}-*.csv")
        ).perf.principal_components()
        scores = (
            components["score"]
            .sel(suite=suite, machine=alone["machine"].values)
            .transpose(*alone["score"].dims)
        )
        np.testing.assert_allclose(scores, alone["score"], atol=1e-12)
    pytest.importorskip("matplotlib")
    assert "int2006_rate, base, one of 2 analyses" in folder.perf.biplot().get_title(loc="left")
    clusters = folder.perf.cluster_machines(2, by="suite")
    assert clusters.sel(
        suite="int2006_speed", machine=["Box 3", "Box 4"]
    ).squeeze().values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="along 'suite' have too little data"):
        folder.sel(machine=["Box 2"]).perf.principal_components(by="suite")


def test_a_model_of_several_suites_is_of_the_largest(folder):
    """Scores of different suites are not explained together, unless the suite is one of the
    predictors, groups or terms."""
    with pytest.raises(
        ValueError,
        match=r"2 rows \(machines\) of its largest suite, 'int2006_rate'\. A model needs 6.*'suite' in predictors=",
    ):
        folder.perf.explain_variation()
    table = folder.perf.machine_table()
    table = pd.concat([table] * 4, ignore_index=True).assign(machine=range(20))
    table.attrs = folder.perf.machine_table().attrs
    for choices in (
        {"predictors": ["suite"]},
        {"formula": "performance ~ C(suite)"},
        {"predictors": ["copies"], "groups": "suite"},
    ):
        assert (
            table.perf.explain_variation(response="performance", model="ols", rng=1, **choices)
            .to_dataset()
            .attrs["model"]
            == "ols"
        )


def test_one_suite_selected_is_answered_without_by(folder):
    """The selection that the note names has no other suite in it, though machines and names are
    those of several."""
    selected = folder.where(folder["suite"] == "int2006_rate").perf.suite_score()
    score = (
        selected["estimate"]
        if "suite" not in selected.dims
        else selected["estimate"].sel(suite="int2006_rate")
    ).compute()
    expected = folder.perf.suite_score(by="suite")["estimate"].sel(suite="int2006_rate").compute()
    np.testing.assert_allclose(score.squeeze(), expected.squeeze())


@pytest.mark.parametrize("by", ["suite", None])
def test_comparisons_of_other_dims_have_a_row_for_each_suite(folder, by):
    """Base beside base run again: a name that two suites have is compared inside each, and has a
    row of each suite with `by`."""
    two_versions = xr.concat(
        [folder[["ratio"]], folder[["ratio"]] * 1.1], dim="version"
    ).assign_coords(version=["old", "new"])
    two_versions["ratio"].attrs.update(folder["ratio"].attrs)
    verdicts = two_versions.perf.compare("old", dim="version", by=by).compute()
    np.testing.assert_allclose(
        verdicts["suite_estimate"].values[np.isfinite(verdicts["suite_estimate"].values)], 1.1
    )
    if by:
        assert set(verdicts["suite"].values) == set(SUITES)
        counts = verdicts["suite_benchmarks"].sel(suite="int2006_speed").squeeze()
        assert counts.fillna(0).sel(machine=["Box 1", "Box 3"]).values.tolist() == [0, 2]


@needs_archives
def test_the_genuine_folder_of_mixed_reports():
    """Seven suites in eight files: base scores are the published ones where no peak leaves a
    benchmark out."""
    times = perfarray.read_archive(ARCHIVES / "spec_csv", on_error="skip")
    times = times.sel(tuning=["base"])
    published = {
        "int2006_rate": {416.443094, 35.27003},
        "int2006_speed": {38.121805},
        "fp2006_speed": {66.515561},
        "int2017_rate": {317.548604},
        "fp2017_rate": {315.95593},
        "int2017_speed": {5.309293},
        "int2017_rate1": {1.236422},
    }
    table = times.perf.machine_table()
    for suite, scores in published.items():
        rows = table.loc[table["suite"] == suite, "performance"].tolist()
        assert sorted(rows) == pytest.approx(sorted(scores), rel=1e-5)
    score = times.perf.suite_score(statistic="median")["estimate"]
    assert float(score.sel(suite="fp2006_speed").max()) == pytest.approx(66.515561, rel=1e-5)
    with warnings.catch_warnings(action="ignore"):
        assert set(times.perf.principal_components()["suite"].values) == {"int2006_rate"}
