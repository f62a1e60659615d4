"""Commands that run in this process, and the files that they read."""

import json
from pathlib import Path

from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli

OLD = (1.00, 1.01, 0.99, 1.00, 1.02, 0.98)
SHIPPED = perfarray.dataset_path("python_malloc")


def run(*arguments, code=None, answers=None):
    """Run a command, and check that it ends, with this exit code if one is given."""
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], input=answers)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(
        result.exception
    )
    assert code in (None, result.exit_code), result.output
    return result


def refused(*arguments):
    """Run a command that has no answer, and return its only line of error."""
    (line,) = [
        line for line in run(*arguments, code=2).stderr.splitlines() if line.startswith("error: ")
    ]
    return line


def as_json(*arguments, code=None):
    """Return the strict JSON of an answer."""

    def refuse(constant):
        raise AssertionError(constant)

    result = run(*arguments, "--json", code=code)
    content = json.loads(result.stdout, parse_constant=refuse)
    assert content.get("exit_code", 0) == result.exit_code
    return content


def one_line(text):
    """Return a text without its line breaks and columns."""
    return " ".join(text.split())


def write_rows(path, header, rows):
    """Write a CSV of any columns."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def write(path, benchmarks):
    """Write a tidy CSV: benchmark to one time per execution."""
    rows = [
        f'"{name}",{i},0,{time}'
        for name, executions in benchmarks.items()
        for i, time in enumerate(executions)
    ]
    return write_rows(path, "benchmark,execution,iteration,time", rows)


def write_sides(old, new):
    """Write two files in the current folder."""
    return write("old.csv", old), write("new.csv", new)


def times(factor):
    """Return the times of OLD by a factor, in another order."""
    return [round(factor * value, 6) for value in reversed(OLD)]
