"""Work shared by threads."""

from threading import Thread, get_ident

import pytest

in_threads = pytest.importorskip(
    "perfarray.mixtures.numerics.compiled", reason="numba is not installed"
).in_threads


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_part_is_done_once(threads):
    finished = []
    in_threads(finished.append, range(20), threads)
    assert sorted(finished) == list(range(20))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_is_that_of_the_part(threads):
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda column: 1 / column, [1, 0, 2], threads)


def test_threads_of_others_are_not_multiplied():
    """Called from a thread that is not the main one, the work stays there."""
    threads_used = []
    caller = Thread(
        target=lambda: in_threads(lambda _column: threads_used.append(get_ident()), range(5), 4)
    )
    caller.start()
    caller.join()
    assert set(threads_used) == {caller.ident}
