"""Small files with the shapes and traps of real ones, made on the spot."""

import bz2
import gzip
import json
import lzma
import os
from pathlib import Path

import pytest

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).resolve().parents[3] / "shared"))
ARCHIVES = SHARED / "data" / "archives"

needs_archives = pytest.mark.skipif(not ARCHIVES.is_dir(), reason=f"the archives of genuine files are not in {ARCHIVES}")


def write(path, content):
    """Write text, bytes or JSON, packed as the name says, and return the path."""
    data = content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACK.get(path.suffix, bytes)(data))
    return path


def run(*values, warmups=(), **metadata):
    """Return one pyperf run; without values it calibrates."""
    made = {"warmups": [list(pair) if isinstance(pair, tuple) else pair for pair in warmups], "values": list(values)}
    return {key: value for key, value in made.items() if value} | ({"metadata": metadata} if metadata else {})


def bench(name, *runs, **metadata):
    """Return one pyperf benchmark."""
    return {"metadata": ({"name": name} if name else {}) | metadata, "runs": list(runs)}


def suite(*benchmarks, version="1.0", **metadata):
    """Return a pyperf file."""
    return {"version": version, "benchmarks": list(benchmarks), "metadata": metadata}


CALIBRATION = run(warmups=[(1, 0.5), (2, 0.4)], calibrate_loops=2)


def small_suite(*means, **metadata):
    """Return a pyperf file of one benchmark `fft`, an execution of two values per mean."""
    return suite(bench("fft", CALIBRATION, *(run(mean, mean + 1.0, warmups=[(2, mean + 2.0)]) for mean in means)), **metadata)


def entry(name="copy", data=((1.0, 2.0),), unit="ns/op", mode="avgt", threads=1, **more):
    """Return one JMH result."""
    primary = {"score": 1.0, "scoreError": "NaN", "scoreUnit": unit, "rawData": data}
    return {
        "jmhVersion": "1.37", "benchmark": name, "mode": mode, "threads": threads, "forks": len(data), "jvm": "/opt/java", "jvmArgs": [],
        "jdkVersion": "21", "vmName": "A VM", "primaryMetric": primary, "secondaryMetrics": {},
    } | more  # fmt: skip


def secondary(unit, *forks):
    """Return one secondary metric of a JMH result."""
    return {"score": 1.0, "scoreUnit": unit, "rawData": list(forks)}
