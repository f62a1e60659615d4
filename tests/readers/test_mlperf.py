"""MLPerf training logs: the time between start and end, runs that missed their target, all ages, the machine beside."""

import json

import pytest

import perfarray
from readers.files_of_our_own import write


def log(start="1500.25", stop="1600.5", outcome=': {"success": true}', name="ncf"):
    """Return a log of version 0.5; nothing where a time is None."""
    lines = [f":::MLPv0.5.0 {name} 0000000000 (empty:0) run_set_random_seed: 0", "epoch 1: loss 0.5"]
    lines += [f":::MLPv0.5.0 {name} {start} (ncf.py:242) run_start"] if start else []
    lines += [f"0: :::MLPv0.5.0 {name} {stop} (ncf.py:460) run_stop{outcome}"] if stop else []
    return "\n".join([*lines, f":::MLPv0.5.0 {name} 9999.0 (ncf.py:462) run_final"])


def test_the_time_is_that_from_start_to_stop(tmp_path):
    """The time is that between `run_start` and `run_stop`; success may be written as text."""
    found = perfarray.read(write(tmp_path / "result_0.txt", log(outcome=': {"success": "true"}')))
    assert found["time"].dims == ("benchmark", "machine", "execution", "iteration")
    assert found["time"].item() == 100.25
    assert found["benchmark"].item() == "ncf"
    with pytest.warns(perfarray.PerfarrayWarning, match="line 4 does not say whether the run reached its target"):
        assert perfarray.read(write(tmp_path / "result_1.txt", log(outcome="")))["time"].item() == 100.25


@pytest.mark.parametrize("text", [log(outcome=': {"success": false}'), log(outcome=': {"success": "false"}'), log(stop=None)])
def test_a_run_that_failed_has_no_time(tmp_path, text):
    """A run fails if it missed its target or its log does not end."""
    path = write(tmp_path / "result_0.txt", text)
    if "run_stop" not in text:
        with pytest.warns(perfarray.PerfarrayWarning, match="logs no 'run_stop'"):
            found = perfarray.read(path)
    else:
        found = perfarray.read(path)
    assert bool(found["failed"].item())
    assert found["time"].isnull().item()


def test_later_versions(tmp_path):
    """Version 0.6 has the seconds in front; from 0.7 on all is JSON, in milliseconds."""
    text = ':::MLL 10.5 run_start: {"value": null}\n:::MLL 12.5 run_stop: {"value": null, "metadata": {"status": "success"}}\n'
    assert perfarray.read(write(tmp_path / "gnmt" / "result_0.txt", text))["time"].item() == 2.0
    events = [("submission_benchmark", "bert", 1), ("run_start", None, 2000), ("run_stop", None, 5500)]
    lines = [f":::MLLOG {json.dumps({'key': k, 'value': v, 'time_ms': t, 'metadata': {'status': 'success'}})}" for k, v, t in events]
    found = perfarray.read(write(tmp_path / "result_1.txt", "\n".join(lines)))
    assert (found["benchmark"].item(), found["time"].item()) == ("bert", 3.5)
    aborted = "\n".join(lines).replace('"success"', '"aborted"')
    assert bool(perfarray.read(write(tmp_path / "result_2.txt", aborted))["failed"].item())


def test_a_submission(tmp_path):
    """Files are executions in the order of their numbers, `entry.json` above them is the machine."""
    node = {"num_nodes": 1, "cpu": "X", "num_cores": 40, "num_vcpus": 80, "sys_mem_size": 512, "accelerator": "N/A"}
    write(tmp_path / "s" / "entry.json", {"hardware": "Box", "framework": "F", "nodes": [node]})
    for number in (10, 9):
        write(tmp_path / "s" / "ncf" / f"result_{number}.txt", log(stop=str(1500.25 + number)))
    found = perfarray.read(tmp_path / "s")
    assert found["time"].sel(machine="Box", benchmark="ncf").values.ravel().tolist() == [9.0, 10.0]
    assert (found["cores"].item(), found["logical_cores"].item(), found["memory_gb"].item(), found["cpu"].item()) == (40, 80, 512, "X")
    assert "accelerator" not in found.coords


@pytest.mark.parametrize(
    ("text", "message"),
    [(log(stop="1400"), "line 4: the run ends at 1400, and begins at 1500.25"), (log(start="x"), "the time of 'run_start' is 'x'")],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"result_0\.txt: .*{message}"):
        perfarray.read(write(tmp_path / "result_0.txt", text))
