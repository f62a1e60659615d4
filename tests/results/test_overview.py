"""`times.perf` shows what the array holds and the methods by question."""

import pandas as pd

import perfarray
from perfarray.accessor import TimingsAccessor
from perfarray.results.kinds import functions_by_question

TIMES = perfarray.from_samples(
    {"old": [[10.0, 10.2], [10.4, 10.6]], "<new>": [[9.0, 9.2], [9.4, 9.4]]},
    level=("execution", "iteration"),
)


def test_every_method_has_its_question():
    """No method is missing, and none is named that is not there."""
    methods = {name for name in vars(TimingsAccessor) if not name.startswith("_")} - {"plot"}
    listed = [name for names in functions_by_question(methods).values() for name in names]
    assert sorted(listed) == sorted(methods)


def test_timings_show_what_they_hold():
    """Unit, direction, labels and nest, then the methods."""
    text = repr(TIMES.perf)
    assert text.startswith(
        "time in s, lower is better\n  2 versions: 'old', '<new>'\n  repetitions: 2 executions "
        "x 2 iterations\nWhat "
    )
    assert "is it faster, by how much, how sure?       compare, " in text
    assert repr(TIMES["time"].perf) == text
    assert "&lt;new&gt;" in TIMES.perf._repr_html_()


def test_exact_metrics_are_named_as_such():
    assert repr(TIMES.perf.declare(exact=True).perf).startswith("time in s, lower is better, exact")


def test_a_dim_with_the_name_of_a_plural_is_not_counted_as_one():
    """Threads of three numbers are no three threads."""
    times = perfarray.from_samples({2: [1.0, 1.1], 4: [0.6, 0.7], 6: [0.5, 0.4]}, dim="threads")
    assert "\n  threads (3 labels): 2, 4, 6\n" in repr(times.perf)
    assert "\n  threads (1 label): 2\n" in repr(times.isel(threads=[0]).perf)


def test_several_metrics_come_with_the_main_one_first():
    combined = TIMES.assign(energy=(2 * TIMES["time"]).assign_attrs(units="J")).assign_attrs(
        metric="energy"
    )
    assert repr(combined.perf).splitlines()[:2] == [
        "energy in J, lower is better",
        "time in s, lower is better",
    ]


def test_results_and_tables_say_what_to_do_next():
    assert "table, plot, notes" in repr(TIMES.perf.counts().perf)
    text = repr(pd.DataFrame({"program": ["fft"], "seconds": [1.0]}).perf)
    assert "to_timings" in text
    assert "'program', 'seconds'" in text


def test_arrays_without_measurements_show_themselves():
    """The accessor never raises when it is shown."""
    assert "levels=" in repr(TIMES.drop_vars("time").perf)
    assert "timings in s" in repr(
        TIMES["time"].mean(("execution", "iteration"), keep_attrs=True).rename(None).perf
    )
