"""The page on archives beyond memory on two worker processes, one of which is killed."""

import os
import signal

import pandas as pd
import pytest
import xarray as xr

import perfarray

distributed = pytest.importorskip("dask.distributed")
pytest.importorskip("pyarrow")
pytest.importorskip("zarr")


@pytest.fixture
def stored(tmp_path):
    """A streamed archive, in chunks of five machines."""
    times = perfarray.simulate(
        sizes={"session": 3, "execution": 4},
        variances={"session": 1e-4, "execution": 1e-4},
        dims={"machine": [f"m{number:02d}" for number in range(40)], "benchmark": ["fft", "sort"]},
        rng=1,
    )
    times.perf.to_frame().to_csv(tmp_path / "runs.csv", index=False)
    return perfarray.convert_table(tmp_path / "runs.csv", tmp_path / "runs.zarr").isel(file=0, drop=True).chunk(machine=5)


@pytest.mark.filterwarnings("ignore")
def test_five_answers_and_a_killed_worker(stored, capfd):
    """Answers are those of threads; the tasks of the killed worker are computed again, and nothing of dask's is printed but that."""
    answers = {
        "counts": stored.perf.counts(),
        "variance_components": stored.perf.variance_components(),
        "mean_interval": stored.perf.mean_interval(method="percentile", n_resamples=400, rng=1),
        "suite_score": stored.perf.suite_score(),
        "compare": stored.perf.compare("m00", dim="machine"),
    }
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        first = {name: answer.compute() for name, answer in answers.items()}
        futures = client.compute(list(answers.values()))
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        again = dict(zip(answers, client.gather(futures), strict=True))
    for name, answer in answers.items():
        expected = answer.compute(scheduler="threads")
        xr.testing.assert_identical(first[name], expected)
        xr.testing.assert_identical(again[name], expected)
    assert "run_spec" not in "".join(capfd.readouterr())
    assert isinstance(expected.perf.table(), pd.DataFrame)
