"""How each benchmark tool runs several processes, which is what one execution a side lacks."""

from collections.abc import Mapping
from typing import Final

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
