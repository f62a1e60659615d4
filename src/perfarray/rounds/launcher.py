"""Run one command and write what it took: a program of its own, which is small.

The peak memory of a process counts what the process had that started it, so that a large one
cannot measure small commands. If the program that started it ends, its standard input does, and all
that it started is killed. Usage: launcher.py COMMAND FILE
"""

import _thread
import os
import signal
import sys
import time

KILOBYTE = 1024 if sys.platform != "darwin" else 1  # the unit of `ru_maxrss`


def main(command: str, path: str) -> int:
    """Run a command in the shell; return its exit code, 128 and more where a signal ended it."""
    no_input = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    start = time.perf_counter()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=no_input)
    _thread.start_new_thread(end_with_parent, ())
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    with open(path, "w", encoding="ascii") as file:
        memory = usage.ru_maxrss * KILOBYTE
        file.write(f"{seconds!r} {usage.ru_utime + usage.ru_stime!r} {memory}")
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def end_with_parent() -> None:
    """Kill the process group once nobody holds the other end of the standard input."""
    os.read(0, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
