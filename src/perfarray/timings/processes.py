"""How each benchmark tool runs several processes, and some of its benchmarks again.

Several processes are what one execution a side lacks.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from perfarray.conventions import EXECUTION, ITERATION

# By format, a command that measures in several processes; or in one, which writes what it measured
# below the folder `new`
COMMANDS: Final[Mapping[str, str]] = {
    "asv": (
        "asv run HEAD^!; mkdir new/$i; cp .asv/results/*/$(git rev-parse --short=8 HEAD)-* new/$i"
    ),
    "benchexec": "benchexec benchmark.xml -o new/$i/",
    "benchmarkdotnet": "dotnet run -c Release -- --filter '*' --launchCount 5 --exporters json",
    "caliper": 'CALI_CONFIG="spot(output=new/$i.cali)" ./program',
    "catch2": "./bench --reporter xml --out new/$i.xml",
    "conbench": "for i in 1 2 3 4 5; do conbench NAME --run-id new; done",
    "criterion": "CRITERION_HOME=new/$i cargo bench",
    "custom": "./bench > new/$i.json",
    "feather": "./bench new/$i.feather",
    "github_action_benchmark": "./bench > new/$i.json",
    "go": "go test -run '^$' -bench . > new/$i.txt",
    "google_benchmark": "./bench --benchmark_out=new/$i.json --benchmark_out_format=json",
    "gungraun": "cargo bench -- --output-format json > new/$i.json",
    "hyperfine": "hyperfine --runs 10 --export-json new.json COMMAND",
    "jmh": "java -jar benchmarks.jar -f 10 -rf json -rff new.json",
    "krun": "krun.py CONFIG.krun # with N_EXECUTIONS = 10 in CONFIG.krun",
    "llvm_lit": "llvm-lit -o new/$i.json .",
    "lnt": "lnt runtest test-suite --exec-multisample 5",
    "microbenchmark": "Rscript bench.R new/$i.csv",
    "mlperf": "./run_and_time.sh > new/result_$i.txt",
    "nanobench": "./bench > new/$i.json",
    "nvbench": "./bench --jsonbin new/$i.json",
    "parquet": "./bench new/$i.parquet",
    "phoronix": "FORCE_TIMES_TO_RUN=10 phoronix-test-suite benchmark TEST",
    "pyperf": "python bench.py --processes 20 -o new.json",
    "pytest_benchmark": "pytest --benchmark-json=new/$i.json",
    "rebench": "rebench --invocations 10 rebench.conf",
    "renaissance": "java -jar renaissance.jar --json new/$i.json all",
    "spec_csv": "runcpu --noreportable --iterations 5 --output_format csv SUITE",
    "spec_dump": "runcpu --noreportable --iterations 5 --output_format csv SUITE",
    "spec_runs": "./run.sh > new/$i.csv",
    "spec_text": "runcpu --noreportable --iterations 5 --output_format text SUITE",
    "speedup_test": "for i in 1 2 3 4 5; do /usr/bin/time -a -o sample.txt -f %e ./program; done",
    "tidy_csv": "./bench > new/$i.csv",
    "vitest": "npx vitest bench --run --outputJson new/$i.json",
}


# Rounds of both sides: files of one name are one round, whose order alternates
ROUNDS: Final = (
    "mkdir -p old new; for i in 1 3 5; do for run in old/$i new/$i new/$((i+1)) old/$((i+1)); do "
    "{command}; done; done"
)


def several_processes(format: str, *, compared: bool = False) -> str:
    """Return how the tool of a format runs several processes, as a sentence.

    Two systems that are `compared` are measured in rounds.

    Examples
    --------
    >>> several_processes("pyperf")
    'Run several processes: `python bench.py --processes 20 -o new.json`'
    >>> several_processes("an_own_one")
    'Run several processes'
    """
    command = COMMANDS.get(format)
    if command is None:
        return "Run several processes"
    if "new/" not in command:
        return f"Run several processes: `{command}`"
    session = 'Each file is then a session: rename(file="session")'
    if not compared:
        loop = f"mkdir -p new; for i in 1 2 3 4 5; do {command}; done"
        return f"Run several processes: `{loop}`. {session}"
    of_run = command.replace("new/$i", "$run")
    of_run = of_run.replace("new/result_$i", "${run%/*}/result_${run#*/}")  # MLPerf's file names
    loop = ROUNDS.format(command=of_run)
    return f"Run several processes of both sides, in alternating order: `{loop}`. {session}"


SPECIAL: Final = re.compile(r"[\\.^$*+?{}\[\]|()]")  # of regular expressions of every kind
SETTINGS: Final = re.compile(r"\[\w+=[^\[\]]*\]$")  # what readers write behind a name


def escaped(name: str) -> str:
    """Return a name as a regular expression of any kind, which `re.escape` is not."""
    return SPECIAL.sub(r"\\\g<0>", name)


def any_of(names: Sequence[str]) -> str:
    """Return a regular expression that only these names match.

    Examples
    --------
    >>> print(any_of(["copy", "BM_sort<int>/8"]))
    ^(copy|BM_sort<int>/8)$
    """
    return f"^({'|'.join(map(escaped, names))})$"


class Rerun(NamedTuple):
    """How a tool runs some of its benchmarks again.

    `command` holds `{names}`, what `select` makes of their names; `{repeat}`, the option that
    repeats `level` so often, or nothing; and `{file}`, the file it writes, without suffix.
    """

    command: str
    select: Callable[[Sequence[str]], str]
    option: str = ""
    level: str = ""


def _plain(names: Sequence[str]) -> list[str]:
    """Return names without the settings that readers wrote behind them."""
    return list(dict.fromkeys(SETTINGS.sub("", name) for name in names))


def _in_go(names: Sequence[str]) -> str:
    """Return Go's pattern: an expression for each part between slashes (`|` since Go 1.20)."""
    parts = [name.split("/") for name in _plain(names)]
    single = [f"Benchmark{name}" for name, *rest in parts if not rest]
    nested = [
        "/".join(f"^{escaped(part)}$" for part in (f"Benchmark{name}", *rest))
        for name, *rest in parts
        if rest
    ]
    return shlex.quote("|".join([*([any_of(single)] if single else []), *nested]))


def _in_jmh(names: Sequence[str]) -> str:
    """Return an expression of names, and the values of their params: `-p size=1,64`.

    Params whose values hold commas are not told apart: then all are run.
    """
    values: dict[str, dict[str, None]] = {}
    for name in names:
        settings = SETTINGS.search(name)
        for setting in settings[0][1:-1].split(",") if settings else ():
            key, _, value = setting.partition("=")
            values.setdefault(key, {})[value] = None
    params = {
        key: f"{key}={','.join(texts)}"
        for key, texts in values.items()
        if key not in ("mode", "threads")
    }
    is_clear = all(text for texts in values.values() for text in texts)
    options = [f"-p {shlex.quote(text)}" for text in params.values()] if is_clear else []
    return " ".join([shlex.quote(any_of(_plain(names))), *options])


def _in_pytest(names: Sequence[str]) -> str:
    """Return an expression of bare names, else node ids: expressions cannot hold brackets."""
    if all(name.isidentifier() for name in names):
        return f"-k {shlex.quote(' or '.join(names))}"
    return f"-- {' '.join(map(shlex.quote, names))}"


def _commands(names: Sequence[str]) -> str:
    """Return commands with their names, which may begin with a dash."""
    commands = [shlex.quote(name) for name in _plain(names)]
    return f"{' '.join(f'--command-name={name}' for name in commands)} -- {' '.join(commands)}"


# By format; tools without a filter of names are not among them, but for pyperf, which runs all
RERUNS: Final[Mapping[str, Rerun]] = {
    "criterion": Rerun(
        "CRITERION_HOME={file} cargo bench -- {names}", lambda names: shlex.quote(any_of(names))
    ),
    "go": Rerun(
        "go test -run '^$' -bench {names}{repeat} > {file}.txt", _in_go, " -count {}", ITERATION
    ),
    "google_benchmark": Rerun(
        "./bench --benchmark_filter={names}{repeat} --benchmark_out={file}.json "
        "--benchmark_out_format=json",
        lambda names: shlex.quote(any_of(names)),
        " --benchmark_repetitions={}",
        ITERATION,
    ),
    "hyperfine": Rerun(
        "hyperfine{repeat} --export-json {file}.json {names}", _commands, " --runs {}", EXECUTION
    ),
    "jmh": Rerun(
        "java -jar benchmarks.jar {names}{repeat} -rf json -rff {file}.json",
        _in_jmh,
        " -f {}",
        EXECUTION,
    ),
    "pyperf": Rerun(
        "python bench.py{repeat} -o {file}.json", lambda _: "", " --processes {}", EXECUTION
    ),
    "pytest_benchmark": Rerun("pytest --benchmark-json={file}.json {names}", _in_pytest),
}


def rerun_command(
    format: str, names: Sequence[str], runs: int, *, unit: str, sizes: Mapping[str, int], file: str
) -> str | None:
    """Return the command that measures so many more units of some benchmarks, or None.

    A unit that no option of the tool repeats is a process; inside it there are as many repetitions
    (`sizes`, by level) as before. `file` is what it writes, without suffix.

    Examples
    --------
    >>> print(rerun_command("go", ["A", "B/n=8"], 5, unit="iteration", sizes={}, file="more/1"))
    go test -run '^$' -bench '^(BenchmarkA)$|^BenchmarkB$/^n=8$' -count 5 > more/1.txt
    """
    rerun = RERUNS.get(format)
    if rerun is None or (unit == ITERATION and rerun.level != ITERATION):
        return None
    by_option = unit == rerun.level
    repeats = runs if by_option else sizes.get(rerun.level, 1)
    command = rerun.command.format(
        names=rerun.select(names),
        repeat=rerun.option.format(repeats) if by_option or repeats > 1 else "",
        file=file if by_option else f"{file}-$i",
    )
    return command if by_option else f"for i in $(seq {runs}); do {command}; done"
