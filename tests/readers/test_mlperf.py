"""MLPerf training logs: the time between start and end, runs that missed their target, all ages,
the machine beside."""

import json

import perfarray
from readers.files_of_our_own import NAN, check, reader, readings, refusals, write

read = reader("result_0.txt")


def log(start="1500.25", stop="1600.5", outcome=': {"success": true}', name="ncf"):
    """Return a log of version 0.5; nothing where a time is None."""
    lines = [
        f":::MLPv0.5.0 {name} 0000000000 (empty:0) run_set_random_seed: 0",
        "epoch 1: loss 0.5",
    ]
    lines += [f":::MLPv0.5.0 {name} {start} (ncf.py:242) run_start"] if start else []
    lines += [f"0: :::MLPv0.5.0 {name} {stop} (ncf.py:460) run_stop{outcome}"] if stop else []
    return "\n".join([*lines, f":::MLPv0.5.0 {name} 9999.0 (ncf.py:462) run_final"])


V6 = (
    ':::MLL 10.5 run_start: {"value": null}\n:::MLL 12.5 run_stop: {"value": null, "metadata": '
    '{"status": "success"}}\n'
)
EVENTS = [("submission_benchmark", "bert", 1), ("run_start", None, 2000), ("run_stop", None, 5500)]
V7 = "\n".join(
    ":::MLLOG "
    f"{json.dumps({'key': k, 'value': v, 'time_ms': t, 'metadata': {'status': 'success'}})}"
    for k, v, t in EVENTS
)
FAILED = {"failed": True, "time": NAN}

test_what_is_read = readings(
    read,
    [
        (
            "the time is that between `run_start` and `run_stop`; success may be written as text",
            log(outcome=': {"success": "true"}'),
            {
                "time": 100.25,
                "time.dims": ("benchmark", "machine", "execution", "iteration"),
                "benchmark": "ncf",
            },
        ),
        (
            "a log may not say whether the run reached its target",
            log(outcome=""),
            {"time": 100.25},
            "line 4 does not say whether the run reached its target",
        ),
        ("a run that missed its target failed", log(outcome=': {"success": false}'), FAILED),
        (
            "a run that missed its target as a text failed",
            log(outcome=': {"success": "false"}'),
            FAILED,
        ),
        ("a run whose log does not end failed", log(stop=None), FAILED, "logs no 'run_stop'"),
        ("version 0.6 has the seconds in front", V6, {"time": 2.0}),
        (
            "from version 0.7 on all is JSON, in milliseconds",
            V7,
            {"benchmark": "bert", "time": 3.5},
        ),
        ("a run that was aborted failed", V7.replace('"success"', '"aborted"'), {"failed": True}),
    ],
)


def test_a_submission(tmp_path):
    """Files are executions in the order of their numbers, `entry.json` above them is the
    machine."""
    node = {
        "num_nodes": 1,
        "cpu": "X",
        "num_cores": 40,
        "num_vcpus": 80,
        "sys_mem_size": 512,
        "accelerator": "N/A",
    }
    write(tmp_path / "s" / "entry.json", {"hardware": "Box", "framework": "F", "nodes": [node]})
    for number in (10, 9):
        write(tmp_path / "s" / "ncf" / f"result_{number}.txt", log(stop=str(1500.25 + number)))
    times = perfarray.read(tmp_path / "s")
    check(times.sel(machine="Box", benchmark="ncf").squeeze(), time=[9.0, 10.0])
    check(times, cores=40, logical_cores=80, memory_gb=512, cpu="X")
    assert "accelerator" not in times.coords


test_what_is_wrong_is_said = refusals(
    read,
    "result_0.txt",
    [
        (log(stop="1400"), ".*line 4: the run ends at 1400, and begins at 1500.25"),
        (log(start="x"), ".*the time of 'run_start' is 'x'"),
    ],
)
