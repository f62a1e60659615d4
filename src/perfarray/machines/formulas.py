"""Model formulas, read by patsy as statsmodels does: terms and their columns."""

import ast
import builtins
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.numerics.types import Floats

# Functions that need values above zero.
LOGS: Final = ("log", "log2", "log10")

# The end of the name of a column of a design: a label, with the letter of its coding
LABEL: Final = re.compile(r"\[(?:[TSHD]\.)?(.*)\]", re.DOTALL)


class Formula(NamedTuple):
    """A formula: its text, the code left of `~`, and patsy's terms right of it."""

    text: str
    response: str
    terms: tuple[Any, ...]

    def right(self) -> str:
        """Return the terms as patsy writes them: `(a + b)**2` is `a + b + a:b`."""
        return str(import_module("patsy").ModelDesc([], self.terms).describe()).removeprefix("~ ")

    def codes(self) -> list[str]:
        """Return the Python code of every factor of the terms."""
        return _codes_of(self.terms)

    def without(self, columns: Container[str]) -> "Formula":
        """Return the formula without the terms that are computed from certain columns."""
        return self._replace(
            terms=tuple(
                term
                for term in self.terms
                if not any(name in columns for name in names_in(_codes_of([term])))
            )
        )


def read_formula(text: str) -> Formula:
    """Read a formula; raise where there is no `~` or no response, or where patsy cannot read it."""
    if "~" not in text:
        raise ValueError(f"formula={text!r} has no '~'; write response ~ predictors")
    patsy = import_module("patsy")
    try:
        description = patsy.ModelDesc.from_formula(text)
        formula = Formula(
            text, " + ".join(_codes_of(description.lhs_termlist)), tuple(description.rhs_termlist)
        )
        names_in(formula.codes())
        response = names_in([formula.response]) if formula.response else []
    except (patsy.PatsyError, SyntaxError) as error:
        raise ValueError(f"formula={text!r} cannot be read: {error}") from error
    if not response:
        raise ValueError(f"formula={text!r} names no response left of '~'")
    return formula


def design_columns(design: Any) -> tuple[list[str], list[list[str]]]:
    """Name the columns of a design of patsy, and the names that each is computed from.

    A name is `os = linux` for `C(os)[T.linux]`, and `flag -O3` for `Q("flag -O3")[T.True]`.
    """
    titles: list[str] = []
    names: list[list[str]] = []
    for term, columns in design.term_slices.items():
        codes = [str(factor.name()) for factor in term.factors]
        classes = [design.factor_infos[factor].type == "categorical" for factor in term.factors]
        names += [names_in(codes)] * (columns.stop - columns.start)
        titles += [_title(name, codes, classes) for name in design.column_names[columns]]
    return titles, names


def _title(column: str, codes: Sequence[str], classes: Sequence[bool]) -> str:
    titles = []
    for number, (code, is_class) in enumerate(zip(codes, classes, strict=True)):
        column = column.removeprefix(code)
        end = len(column) if number + 1 == len(codes) else column.index(f":{codes[number + 1]}")
        label, column = LABEL.fullmatch(column[:end]), column[end + 1 :]
        call: Any = ast.parse(code, mode="eval").body
        is_coded = isinstance(call, ast.Call) and ast.unparse(call.func) == "C" and bool(call.args)
        title = _name(call.args[0] if is_coded else call) or code
        if label is None:
            titles.append(title)
        elif is_class:
            titles.append(title if label[1] == "True" else f"{title} = {label[1]}")
        else:
            titles.append(f"{title}[{label[1]}]")
    return ":".join(titles) or column


def _codes_of(terms: Iterable[Any]) -> list[str]:
    return [str(factor.name()) for term in terms for factor in term.factors]


def names_in(codes: Iterable[str]) -> list[str]:
    """Return the names that code is computed from, in order, each once.

    They are quoted by Q, or neither called nor bound in the code.

    Examples
    --------
    >>> names_in(["np.log(cores)", "C(os, Treatment('linux'))", "bs(clock)", 'Q("flag -O3")'])
    ['np', 'cores', 'os', 'clock', 'flag -O3']
    """
    names: dict[str, None] = {}
    for nodes in _nodes(codes):
        called = {node.func for node in nodes if isinstance(node, ast.Call)}
        bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
        bound |= {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        in_order = sorted(
            (node for node in nodes if node not in called),
            key=lambda node: (node.lineno, node.col_offset),
        )
        names |= dict.fromkeys(
            name for name in map(_name, in_order) if name is not None and name not in bound
        )
    return list(names)


def columns_in(codes: Iterable[str], table: pd.DataFrame) -> list[str]:
    """Return the columns that code is computed from, also those that the table lacks.

    Names of functions are no columns.
    """
    builtin_names = {"np", *dir(builtins), *import_module("patsy.builtins").__all__}
    return [name for name in names_in(codes) if name in table or name not in builtin_names]


def arguments_of(codes: Iterable[str], functions: Container[str]) -> set[str]:
    """Return the names that are the first argument of certain functions, as in `np.log(cores)`."""
    calls = [
        node
        for nodes in _nodes(codes)
        for node in nodes
        if isinstance(node, ast.Call) and node.args
    ]
    return {
        name
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in functions
        and (name := _name(call.args[0])) is not None
    }


def evaluate_formula(formula: Formula, rows: pd.DataFrame) -> Floats:
    """Return the left side of a formula; raise unless both sides have numbers in all rows."""
    with np.errstate(invalid="ignore", divide="ignore"):
        try:
            model = import_module("statsmodels.formula.api").ols(
                f"{formula.response} ~ {formula.right()}", rows
            )
        except Exception as error:  # a formula is code and may raise anything
            raise ValueError(f"formula={formula.text!r} cannot be computed: {error}") from error
    response = np.asarray(model.endog, dtype=float)
    lost = len(rows) - int((np.isfinite(response) & np.isfinite(model.exog).all(axis=1)).sum())
    if lost:
        raise ValueError(
            f"formula={formula.text!r} has no number for {lost} of {len(rows)} rows, such as "
            "the log of zero: leave those out"
        )
    return response


def _nodes(codes: Iterable[str]) -> Iterator[list[ast.expr | ast.arg]]:
    """Parse expressions; a quoted column is one node."""
    for code in codes:
        yield [
            node
            for node in ast.walk(ast.parse(code, mode="eval"))
            if isinstance(node, ast.expr | ast.arg)
        ]


def _name(node: ast.AST) -> str | None:
    """Return the name that a node stands for, plain or quoted by Q."""
    if isinstance(node, ast.Name):
        return node.id
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Q"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
    ):
        return str(node.args[0].value)
    return None
