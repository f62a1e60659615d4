"""What a name says of numbers: a measured quantity, a setting, or a numbering of repetitions."""

import re


def _words_in(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# Words of names of measured quantities
MEASURED = _words_in(
    "rss maxrss vsz vms pss uss wss hwm fault faults majflt minflt pagefaults energy joule joules "
    "power watt watts percent pct utilization utilisation usage exit exitcode exitstatus "
    "returncode retcode rc temperature temp celsius cycles clocks ticks count instructions instr "
    "misses hits ipc cpi allocs allocations allocated bytes memory mem heap rchar wchar swaps "
    "switches ctxt csw nvcsw nivcsw inblock oublock voluntary involuntary migrations stalls "
    "interrupts syscalls time duration "
    "elapsed latency runtime walltime wall user sys system cputime uptime"
)

# Units at the end of a name of several words, as in `max_rss_kb`
UNITS = _words_in(
    "ns us µs μs ms s sec secs second seconds milliseconds microseconds nanoseconds minutes hours "
    "kb mb gb tb kib mib gib tib kbytes mbytes byte mj uj kj wh kwh mw kw hz khz mhz ghz"
)

# Units in brackets, as in `mem(KB)`; some of them are no units at the end of a name without
# brackets
UNITS_IN_BRACKETS = UNITS | _words_in("b j w h c k min % bytes")

# Words of names of settings
SETTINGS = _words_in(
    "thread threads nthreads core cores ncores cpus ncpu ncpus procs processes nprocs worker "
    "workers client clients connections jobs tasks node nodes nnodes ranks nranks nproc ppn size "
    "sizes dsize n nelem nelements elements items rows cols columns records keys entries length "
    "len width height depth order degree dim dims dimension dimensions batch batchsize block "
    "blocks blocksize chunk chunks buffer concurrency parallelism copies scale sf factor lanes "
    "streams shards partitions replicas qd iodepth stride radix arity year unroll tile tiles "
    "fanout capacity limit gomaxprocs version level optlevel"
)

# Words of names of numberings
COUNTERS = _words_in(
    "run runs trial seed rep reps repeat repetition replicate replication iter iteration idx "
    "index sample attempt try round pass invocation measurement observation execution process "
    "proc fork number"
)

# Words of names of identifiers: `core_id` is where a run was, `cores` how many it had
IDENTIFIERS = _words_in("id ids idx index pid tid")

# Words of names of benchmarks
BENCHMARKS = _words_in(
    "benchmark bench program programme test workload kernel query application app suite"
)

# Words of names of remarks
REMARKS = _words_in(
    "comment comments note notes remark remarks message msg log description info warning "
    "warnings error errors output"
)

# Words of names of moments; a `commit_time` is one, a `cpu_time` is none
MOMENTS = _words_in(
    "date datetime timestamp stamp when day epoch unix committed authored created started"
)
OF_MOMENTS = _words_in("commit committer author start")

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zµμ]+|\d+|%")


def is_measured(name: str) -> bool:
    """Return whether a name is that of a measured quantity, or states a unit.

    Examples
    --------
    >>> names = ("max_rss_kb", "mem(KB)", "exitCode", "cpu [%]", "threads", "foo")
    >>> [is_measured(name) for name in names]
    [True, True, True, True, False, False]
    """
    text = name.rstrip()
    bracket = max(text.rfind("["), text.rfind("("))
    if (
        text.endswith(("]", ")"))
        and bracket > 0
        and text[bracket + 1 : -1].strip().lower() in UNITS_IN_BRACKETS
    ):
        return True
    words = _words(name)
    return not MEASURED.isdisjoint(words) or (len(words) > 1 and words[-1] in UNITS)


def is_setting(name: str) -> bool:
    """Return whether a name is that of a setting.

    Examples
    --------
    >>> [is_setting(name) for name in ("threads", "blockSize", "n", "run", "load", "core_id")]
    [True, True, True, False, False, False]
    """
    words = _words(name)
    return not SETTINGS.isdisjoint(words) and IDENTIFIERS.isdisjoint(words)


def is_counter(name: str) -> bool:
    """Return whether a name is that of a numbering of repetitions.

    Examples
    --------
    >>> [is_counter(name) for name in ("run", "Trial", "run_id", "seed", "threads")]
    [True, True, True, True, False]
    """
    words = _words(name)
    return not COUNTERS.isdisjoint(words) and SETTINGS.isdisjoint(words) and not is_measured(name)


def is_benchmark(name: str) -> bool:
    """Return whether a name is that of benchmarks, which may well have unequal numbers of runs.

    Examples
    --------
    >>> [is_benchmark(name) for name in ("program", "testName", "test_output", "host")]
    [True, True, False, False]
    """
    words = _words(name)
    return not BENCHMARKS.isdisjoint(words) and REMARKS.isdisjoint(words) and not is_measured(name)


def is_remark(name: str) -> bool:
    """Return whether a name is that of remarks.

    Examples
    --------
    >>> [is_remark(name) for name in ("Comment", "free_note", "host")]
    [True, True, False]
    """
    return not REMARKS.isdisjoint(_words(name))


def is_moment(name: str) -> bool:
    """Return whether a name is that of dates.

    Examples
    --------
    >>> names = ("date", "commitDate", "commit_time", "time", "cpu_time", "candidate")
    >>> [is_moment(name) for name in names]
    [True, True, True, True, False, False]
    """
    words = _words(name)
    return (
        not MOMENTS.isdisjoint(words)
        or words == ["time"]
        or ("time" in words and not OF_MOMENTS.isdisjoint(words))
    )


def _words(name: str) -> list[str]:
    """Return the words of a name, in small letters."""
    return [word.lower() for word in WORDS.findall(name)]
