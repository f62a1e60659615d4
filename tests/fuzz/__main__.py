"""A fuzzer guided by coverage on every reader: `python -m tests.fuzz [--seconds 60] [FORMAT ...]`,
with `pip install atheris`.

Each format has a process of its own, which begins with the small files of
`tests/readers/test_broken_files.py`. A file is read with the format forced. Whatever is raised but
ValueError and OSError with the file's name, more than half a minute and more than 2 GB end the
process; the file that did it is kept.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parents[1]
SAID = {
    "custom": (
        {"pattern": "{version}/{phase}/{iteration}"},
        {"pattern": "r{execution} = time_ms"},
        {"dims": {"benchmark": 0, "time_ms": 1}},
        {"dims": {"benchmark": "program", "metric": "ms"}},
    )
}
"""How files of a format are read that are known by what the caller says; the length of a file chooses."""

OWN = {
    "nested.json": '{"a": {"b": [1.5, 2]}}',
    "heads.csv": "x,r1,r2\ny,1,2\n",
    "table.csv": "program,ms\nfft,1.5\n",
}
"""Small files of such a format."""

DONE = re.compile(r"Done (\d+) runs? in (\d+) second|^#(\d+)", re.M)


def one_file(path: Path, name: str, data: bytes) -> None:
    """Read bytes as a file of a format; an error that is none of ours is raised."""
    import perfarray

    path.write_bytes(data)
    declared = SAID.get(name, ({"format": name},))
    try:
        perfarray.read(path, **declared[len(data) % len(declared)])
    except (ValueError, OSError) as error:
        if not str(error).startswith(str(path)):
            raise AssertionError(f"the message does not name the file: {error}") from error


def fuzz(name: str, options: list[str]) -> None:
    """Fuzz one reader in this process, until libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(
        include=["perfarray.readers", "perfarray.tables", "csv", "json.decoder"]
    ):
        from perfarray.readers.recognising import formats

        formats()
    warnings.simplefilter("ignore")
    path = Path(tempfile.mkdtemp(prefix="fuzz")) / "file"
    atheris.Setup([sys.argv[0], *options], lambda data: one_file(path, name, data))
    atheris.Fuzz()


def seeds(name: str, folder: Path) -> None:
    """Write the small files of a format to a folder."""
    sys.path.insert(0, str(HERE))
    from perfarray.readers.opening import Source
    from perfarray.readers.recognising import formats
    from readers.test_broken_files import FILES

    for file, content in (OWN if name in SAID else FILES).items():
        path = folder / file
        path.write_text(content, encoding="utf-8")
        if name not in SAID and not formats()[name].recognise(Source(path)):
            path.unlink()


def main() -> int:
    """Fuzz the readers one after another and print how often each was called."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("formats", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument(
        "--findings",
        type=Path,
        default=Path("findings"),
        help="the folder for files that find something",
    )
    namespace = parser.parse_args()
    from perfarray.readers.recognising import formats

    namespace.findings.mkdir(exist_ok=True)
    n_findings = 0
    print(f"{'reader':20} {'executions':>12} {'seconds':>8}  found")
    for name in namespace.formats or sorted(formats()):
        with tempfile.TemporaryDirectory() as corpus:
            seeds(name, Path(corpus))
            options = [
                corpus,
                f"-max_total_time={namespace.seconds}",
                "-timeout=30",
                "-rss_limit_mb=2048",
                "-max_len=8192",
                "-verbosity=1",
            ]
            options.append(f"-artifact_prefix={namespace.findings}/{name}-")
            began = time.monotonic()
            child = subprocess.run(
                [sys.executable, "-m", "tests.fuzz", "--one", name, *options],
                capture_output=True,
                text=True,
                check=False,
            )
        executions = max(
            (int(number or total) for number, _, total in DONE.findall(child.stderr)), default=0
        )
        bad = child.returncode != 0
        n_findings += bad
        print(
            f"{name:20} {executions:12,} {time.monotonic() - began:8.0f}  {'yes' if bad else 'no'}",
            flush=True,
        )
        if bad:
            (namespace.findings / f"{name}.log").write_text(
                child.stdout + child.stderr, encoding="utf-8"
            )
    return min(n_findings, 1)


if sys.argv[1:2] == ["--one"]:
    fuzz(sys.argv[2], sys.argv[3:])
else:
    raise SystemExit(main())
