"""One run of a command: its result file, or what it took, or its failure with its last output."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
TAIL: Final = 20  # lines of output that an error shows
WIDEST: Final = 400  # letters of such a line


class Usage(NamedTuple):
    """What one run took: wall and processor time in seconds, peak memory in bytes."""

    seconds: float
    cpu_seconds: float
    memory: float


class CommandError(ValueError):
    """A command that failed; `output` is the end of what it printed."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def run_command(command: str, environment: Mapping[str, str], log: Path, timeout: float) -> Usage:
    """Run a command in the shell, with all its output in a file; kill it at the timeout.

    The command has a process group of its own, so that all it started ends with it.
    """
    usage = log.with_suffix(".usage")
    launcher = [sys.executable, "-I", "-S", str(LAUNCHER), command, str(usage)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            launcher,
            stdin=subprocess.PIPE,  # closed when this program ends, however it does
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise CommandError(
                f"The command did not end within {timeout:g} s (--timeout) and was killed: "
                f"{command}",
                tail(log),
            ) from None
        except BaseException:
            _end(process)
            raise
        finally:
            cast("IO[bytes]", process.stdin).close()
    if code:
        raise CommandError(f"The command ended with exit code {code}: {command}", tail(log))
    numbers = Usage(*map(float, usage.read_text(encoding="ascii").split()))
    usage.unlink()
    return numbers


def tail(log: Path) -> str:
    """Return the last lines of an output, without what commands a terminal."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL * WIDEST))
        lines = file.read().decode(errors="replace").splitlines()[-TAIL:]
    return "\n".join(
        "".join(letter if letter.isprintable() or letter == "\t" else "?" for letter in line)
        for line in lines
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
