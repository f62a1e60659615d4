"""NVBench's JSON: means, samples in files beside it, axes, devices, states that were skipped."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, readings, refusals, write


def summary(tag, **values):
    """Return one summary; NVBench writes numbers as texts."""
    return {
        "tag": tag,
        "data": [
            {"name": name, "type": "string", "value": str(value)} for name, value in values.items()
        ],
    }


def state(n=1, mean=1.5, device=0, summaries=(), prefix="nv/cold", unit="gpu"):
    state_summaries = [
        summary(f"{prefix}/sample_size", value=3),
        summary(f"{prefix}/time/{unit}/mean", value=mean),
        *summaries,
    ]
    axes = [{"name": "n", "type": "int64", "value": str(n)}]
    return {
        "name": f"Device={device} n={n}",
        "device": device,
        "axis_values": axes,
        "summaries": state_summaries,
        "is_skipped": False,
    }


SKIPPED = {
    "name": "Device=0 n=9",
    "device": 0,
    "axis_values": None,
    "summaries": None,
    "is_skipped": True,
    "skip_reason": "x",
}


def read(tmp_path, *states):
    devices = [
        {"id": number, "name": name, "sm_version": 700}
        for number, name in enumerate(("GPU A", "GPU B"))
    ]
    content = {
        "meta": {},
        "devices": devices,
        "benchmarks": [{"name": "sort", "axes": None, "states": list(states)}],
    }
    return perfarray.read(write(tmp_path / "file.json", content))


NOTE = "no values but their mean.*unknown. --jsonbin writes the samples"

test_what_is_read = readings(
    lambda folder, states: read(folder, *states),
    [
        *(
            (
                f"a mean alone is one value: {prefix}",
                [state(prefix=prefix, unit=unit)],
                {"time": 1.5, "loops": 3, "gpu": "GPU A", "n": 1},
                NOTE,
            )
            for prefix, unit in (("nv/cold", "gpu"), ("nv/cpu_only", "cpu"))
        ),
        (
            "axes and devices are in labels that need them, and a state without a time is counted",
            [state(n=1), state(n=2), state(n=2, device=1), SKIPPED],
            {
                "benchmark": ["sort[n=1,device=0]", "sort[n=2,device=0]", "sort[n=2,device=1]"],
                "gpu": ["GPU A", "GPU A", "GPU B"],
                "n_skipped": 1,
            },
            NOTE,
        ),
    ],
)


@pytest.mark.parametrize("filename", ["file.json-bin/0.bin", "/where/it/ran/file.json-bin/0.bin"])
def test_samples_are_iterations(tmp_path, filename):
    write(tmp_path / "file.json-bin/0.bin", np.array([1.5, 2.0, 2.5], dtype="<f4").tobytes())
    times = read(
        tmp_path,
        state(summaries=[summary("nv/json/bin:nv/cold/sample_times", filename=filename, size=3)]),
    )
    check(times, time=[[[1.5, 2.0, 2.5]]])
    assert "loops" not in times.coords
    assert perfarray.read_archive(tmp_path).attrs["n_files_skipped"] == 0


@pytest.mark.parametrize(
    ("filename", "size", "message"),
    [
        (
            "file.json-bin/1.bin",
            3,
            (
                r"file\.json: names samples that do not lie in a folder beside it: "
                r"'file.json-bin/1.bin'"
            ),
        ),
        (
            "file.json-bin/../../0.bin",
            3,
            r"file\.json: names samples that do not lie in a folder beside it",
        ),
        ("file.json-bin/0.bin", 4, r"0\.bin: has 3 samples; expected 4, as file\.json says"),
    ],
)
def test_samples_that_do_not_match_are_refused(tmp_path, filename, size, message):
    """A file names no file above its own folder."""
    for path in ("file.json-bin/0.bin", "0.bin", "../0.bin"):
        write(tmp_path / path, np.ones(3, dtype="<f4").tobytes())
    with pytest.raises(ValueError, match=message):
        read(
            tmp_path,
            state(
                summaries=[
                    summary("nv/json/bin:nv/cold/sample_times", filename=filename, size=size)
                ]
            ),
        )


test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    [
        (
            state(mean=-1),
            "benchmark 'sort', state 'Device=0 n=1': nv/cold/time/gpu/mean: value 0 is '-1'",
        ),
        (SKIPPED, "holds no measurement: it names 1 benchmarks, 'sort' is the first"),
    ],
)
