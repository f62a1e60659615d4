"""Work shared by threads."""

from threading import Barrier, Thread, current_thread, get_ident, main_thread

import pytest

from perfarray.numerics.threads import in_threads


def test_every_part_is_done_once():
    """Whatever the number of threads, each part is worked on once, one thread in order."""
    for threads in (1, 2, 7):
        done = []
        in_threads(done.append, range(20), threads)
        assert sorted(done) == list(range(20))


def test_an_error_is_that_of_the_part():
    """What goes wrong in a thread goes wrong for the caller."""
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda part: 1 / part, [1, 0, 2], 2)


def test_an_error_of_a_helper():
    """Two threads meet, and what goes wrong in the one that helps goes wrong for the caller, too."""
    both = Barrier(2, timeout=30)

    def work(_part):
        both.wait()
        if current_thread() is not main_thread():
            raise LookupError

    with pytest.raises(LookupError):
        in_threads(work, range(2), 2)


def test_threads_of_others_are_not_multiplied():
    """Called from a thread that is not the main one, the work stays there."""
    seen = []
    caller = Thread(target=lambda: in_threads(lambda _part: seen.append(get_ident()), range(5), 4))
    caller.start()
    caller.join()
    assert set(seen) == {caller.ident}
