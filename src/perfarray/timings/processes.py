"""How each benchmark tool runs several processes, and some of its benchmarks again.

Several processes are what one execution a side lacks.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from perfarray.conventions import EXECUTION, ITERATION


class Tool(NamedTuple):
    """How a tool measures once: a command that writes to the file `$OUT`, and its suffix.

    `{repeat}` stands where `several` goes: the option that makes one call run several processes. A
    command without `$OUT` runs several, and writes where the tool always does. Commands hold no
    single quotes, so that `perfarray ab` takes them in these.
    """

    command: str
    suffix: str = ".json"
    several: str = ""


# By format, a line each; tools that write a folder pack it into one file
COMMANDS: Final[Mapping[str, Tool]] = {
    "asv": Tool('asv run HEAD^! && cp .asv/results/*/$(git rev-parse --short=8 HEAD)-* "$OUT"'),
    "benchexec": Tool(
        'd=$(mktemp -d) && benchexec benchmark.xml -o $d/ && cd $d && tar -cf "$OUT" *.xml*', ".tar"
    ),
    "benchmarkdotnet": Tool(
        'd=$(mktemp -d) && dotnet run -c Release -- --filter "*" --exporters json --artifacts $d'
        '{repeat} && cd $d/results && tar -cf "$OUT" *.json',
        ".tar",
        " --launchCount 5",
    ),
    "caliper": Tool('CALI_CONFIG="spot(output=$OUT)" ./program', ".cali"),
    "catch2": Tool('./bench --reporter xml --out "$OUT"', ".xml"),
    "conbench": Tool("for i in 1 2 3 4 5; do conbench NAME --run-id new; done"),
    "criterion": Tool(
        'd=$(mktemp -d) && CRITERION_HOME=$d cargo bench && tar -cf "$OUT" -C $d .', ".tar"
    ),
    "custom": Tool('./bench > "$OUT"'),
    "feather": Tool('./bench "$OUT"', ".feather"),
    "github_action_benchmark": Tool('./bench > "$OUT"'),
    "go": Tool('go test -run "^$" -bench . > "$OUT"', ".txt"),
    "google_benchmark": Tool('./bench --benchmark_out="$OUT" --benchmark_out_format=json'),
    "gungraun": Tool('cargo bench -- --output-format json > "$OUT"'),
    "hyperfine": Tool('hyperfine{repeat} --export-json "$OUT" COMMAND', several=" --runs 10"),
    "jmh": Tool('java -jar benchmarks.jar{repeat} -rf json -rff "$OUT"', several=" -f 10"),
    "krun": Tool(
        'sed -i.bak "s/^N_EXECUTIONS.*/N_EXECUTIONS = 10/" CONFIG.krun && krun.py CONFIG.krun'
    ),
    "llvm_lit": Tool('llvm-lit -o "$OUT" .'),
    "lnt": Tool("lnt runtest test-suite --exec-multisample 5"),
    "microbenchmark": Tool('Rscript bench.R "$OUT"', ".csv"),
    "mlperf": Tool('./run_and_time.sh > "$OUT"', ".txt"),
    "nanobench": Tool('./bench > "$OUT"'),
    "nvbench": Tool('./bench --jsonbin "$OUT"'),
    "parquet": Tool('./bench "$OUT"', ".parquet"),
    "phoronix": Tool("FORCE_TIMES_TO_RUN=10 phoronix-test-suite benchmark TEST"),
    "pyperf": Tool('python bench.py{repeat} -o "$OUT"', several=" --processes 20"),
    "pytest_benchmark": Tool('pytest --benchmark-json="$OUT"'),
    "rebench": Tool("rebench --invocations 10 rebench.conf"),
    "renaissance": Tool('java -jar renaissance.jar --json "$OUT" all'),
    "spec_csv": Tool("runcpu --noreportable --iterations 5 --output_format csv SUITE"),
    "spec_dump": Tool("runcpu --noreportable --iterations 5 --output_format csv SUITE"),
    "spec_runs": Tool('./run.sh > "$OUT"', ".csv"),
    "spec_text": Tool("runcpu --noreportable --iterations 5 --output_format text SUITE"),
    "speedup_test": Tool(
        "for i in 1 2 3 4 5; do /usr/bin/time -a -o sample.txt -f %e ./program; done"
    ),
    "tidy_csv": Tool('./bench > "$OUT"', ".csv"),
    "vitest": Tool('npx vitest bench --run --outputJson "$OUT"'),
}

OUT: Final = "$OUT"
PROCESSES: Final = "Run several processes"  # how a remedy begins
RUNS: Final = "runs"  # the folder of files that are to be compared
# Numbers of the first round of two, so that their order can turn
FIRST_ROUNDS: Final = "1 3 5"
SESSIONS: Final = ("--files-are", "session")


class Recipe(NamedTuple):
    """How to measure sides in several processes.

    `measure` is a line for a shell, in which a side is a folder. `compare` are the arguments that
    read what it wrote, none where the tool says where that is. `in_turns` are those of
    `perfarray ab`, none of tools that do not write to a given file.
    """

    measure: str
    compare: tuple[str, ...]
    in_turns: tuple[str, ...]


def recipe(
    format: str, sides: Sequence[str] = ("old", "new"), suffix: str | None = None
) -> Recipe | None:
    """Return how sides are measured in several processes, or None of a format without a tool.

    Their files end with `suffix`, by default the tool's.

    Sides whose tool runs one process are measured in rounds: files of one name are one round, and
    the order of the sides turns with each.

    Examples
    --------
    >>> recipe("pyperf").compare
    ('runs/old.json', 'runs/new.json')
    >>> recipe("go", ["a", "b"]).compare
    ('runs/a', 'runs/b', '--files-are', 'session')
    """
    tool = COMMANDS.get(format)
    if tool is None:
        return None
    once, several = (tool.command.replace("{repeat}", text) for text in ("", tool.several))
    if OUT not in once:
        return Recipe(f"for side in {' '.join(sides)}; do (cd $side && {once}); done", (), ())
    options = (
        f"--{name} {shlex.quote(f'cd {side} && {once}')}"
        for name, side in zip(("old", "new"), sides, strict=False)
    )
    in_turns = tuple(options) if len(sides) == 2 else ()
    suffix = suffix or tool.suffix
    out = f"OUT=$PWD/{RUNS}/$run{suffix}"
    if tool.several:
        loop = f"for run in {' '.join(sides)}; do ({out}; cd $run && {several}); done"
        files = tuple(f"{RUNS}/{side}{suffix}" for side in sides)
        return Recipe(f"mkdir -p {RUNS}; {loop}", files, in_turns)
    folders = tuple(f"{RUNS}/{side}" for side in sides)
    turn = [f"{side}/$i" for side in sides] + [f"{side}/$((i+1))" for side in reversed(sides)]
    loop = (
        f"for i in {FIRST_ROUNDS}; do for run in {' '.join(turn)}; do "
        f"({out}; cd ${{run%/*}} && {once}); done; done"
    )
    return Recipe(f"mkdir -p {' '.join(folders)}; {loop}", (*folders, *SESSIONS), in_turns)


def several_processes(format: str, *, compared: bool = False) -> str:
    """Return how the tool of a format runs several processes, as a sentence.

    Two systems that are `compared` are measured in rounds.

    Examples
    --------
    >>> several_processes("pyperf")
    'Run several processes: `python bench.py --processes 20 -o "new.json"`'
    >>> several_processes("an_own_one")
    'Run several processes'
    """
    tool, of_sides = COMMANDS.get(format), recipe(format)
    if tool is None or of_sides is None:
        return PROCESSES
    session = 'Each file is then a session: rename(file="session")'
    command = tool.command.replace("{repeat}", tool.several)
    is_one_file = OUT in command and not tool.several
    if compared and OUT in command:
        both = f"{PROCESSES} of both sides, in alternating order: `{of_sides.measure}`"
        return f"{both}. {session}" if is_one_file else both
    if not is_one_file:
        return f"{PROCESSES}: `{command.replace(OUT, f'new{tool.suffix}')}`"
    loop = f"for i in 1 2 3 4 5; do (OUT=$PWD/{RUNS}/$i{tool.suffix}; {command}); done"
    return f"{PROCESSES}: `mkdir -p {RUNS}; {loop}`. {session}"


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
