"""Run one command and write what it took: a program of its own, which is small.

The peak memory of a process counts what the process had that started it, so that a large one
cannot measure small commands. Usage: launcher.py COMMAND FILE
"""

import os
import sys
import time

KILOBYTE = 1024 if sys.platform != "darwin" else 1  # the unit of `ru_maxrss`


def main(command: str, path: str) -> int:
    """Run a command in the shell; return its exit code, 128 and more where a signal ended it."""
    start = time.perf_counter()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    with open(path, "w", encoding="ascii") as file:
        memory = usage.ru_maxrss * KILOBYTE
        file.write(f"{seconds!r} {usage.ru_utime + usage.ru_stime!r} {memory}")
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
