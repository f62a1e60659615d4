"""Model formulas, read by patsy, the engine with which statsmodels fits them: terms, and the columns each of them is computed from."""

import ast
import builtins
from collections.abc import Container, Iterable, Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.numerics.types import Floats

LOGS: Final = ("log", "log2", "log10")
"""Functions that need values above zero."""


class Formula(NamedTuple):
    """A formula in two parts: the code left of `~`, and patsy's terms right of it."""

    text: str
    response: str
    terms: tuple[Any, ...]

    def right(self) -> str:
        """Write the terms as patsy does: `(a + b)**2` is `a + b + a:b`."""
        return str(import_module("patsy").ModelDesc([], self.terms).describe()).removeprefix("~ ")

    def codes(self) -> list[str]:
        """Return the Python code of every factor of the terms."""
        return codes_of(self.terms)

    def without(self, columns: Container[str]) -> "Formula":
        """Return the formula without the terms that are computed from certain columns."""
        remaining = (term for term in self.terms if not any(name in columns for name in names_in(codes_of([term]))))
        return self._replace(terms=tuple(remaining))


def read_formula(text: str) -> Formula:
    """Read a formula.

    Raises
    ------
    ValueError
        Where there is no `~`, no response, or patsy cannot read it.
    """
    if "~" not in text:
        raise ValueError(f"formula={text!r} has no '~'; write response ~ predictors")
    patsy = import_module("patsy")
    try:
        described = patsy.ModelDesc.from_formula(text)
        formula = Formula(text, " + ".join(codes_of(described.lhs_termlist)), tuple(described.rhs_termlist))
        names_in(formula.codes())
        response = names_in([formula.response]) if formula.response else []
    except (patsy.PatsyError, SyntaxError) as error:
        raise ValueError(f"formula={text!r} cannot be read: {error}") from error
    if not response:
        raise ValueError(f"formula={text!r} names no response left of '~'")
    return formula


def codes_of(terms: Iterable[Any]) -> list[str]:
    """Return the Python code of every factor of patsy's terms."""
    return [str(factor.name()) for term in terms for factor in term.factors]


def names_in(codes: Iterable[str]) -> list[str]:
    """Return the names that code is computed from, in the order of writing, each once: quoted by Q, or neither called nor its own.

    Examples
    --------
    >>> names_in(["np.log(cores)", "C(os, Treatment(reference='linux'))", "bs(clock, df=4)", 'Q("flag -O3")'])
    ['np', 'cores', 'os', 'clock', 'flag -O3']
    """
    names_seen: dict[str, None] = {}
    for nodes in _nodes(codes):
        called = {node.func for node in nodes if isinstance(node, ast.Call)}
        bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
        bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        names = [(node.lineno, node.col_offset, _name(node)) for node in nodes if node not in called]
        names_seen |= dict.fromkeys(
            name for _, _, name in sorted(names, key=lambda position: position[:2]) if name is not None and name not in bound
        )
    return list(names_seen)


def columns_in(codes: Iterable[str], table: pd.DataFrame) -> list[str]:
    """Return the columns that code is computed from, also those that the table lacks; the engine's own names are none."""
    builtin_names = {"np", *dir(builtins), *import_module("patsy.builtins").__all__}
    return [name for name in names_in(codes) if name in table or name not in builtin_names]


def arguments_of(codes: Iterable[str], functions: Container[str]) -> set[str]:
    """Return the names that are the first argument of certain functions, such as `log` of `np.log(cores)`."""
    calls = [node for nodes in _nodes(codes) for node in nodes if isinstance(node, ast.Call) and node.args]
    return {name for call in calls if ast.unparse(call.func).rpartition(".")[2] in functions and (name := _name(call.args[0])) is not None}


def same_of_arrays(codes: Iterable[str]) -> bool:
    """Return whether code gives the same of arrays as of columns of a table: no methods of columns, nor what pandas divides another way.

    Examples
    --------
    >>> same_of_arrays(["np.log(1 + cores)", "C(os)"]), [same_of_arrays([code]) for code in ("cores.rank()", "cores % 2", "round(cores)")]
    (True, [False, False, False])
    """
    return all(_same_of_arrays(node) for nodes in _nodes(codes) for node in nodes)


def _same_of_arrays(node: ast.AST) -> bool:
    """Return whether a node is a name, a constant, a call, a function of NumPy, or arithmetic; Python's own, as round, asks columns."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return not hasattr(builtins, node.func.id)
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "np"
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.FloorDiv | ast.Mod)
    return isinstance(node, ast.Name | ast.Constant | ast.Call | ast.UnaryOp | ast.Compare)


def evaluate_formula(formula: Formula, rows: pd.DataFrame) -> Floats:
    """Return the left side of a formula, of rows that all of it can be computed of.

    Raises
    ------
    ValueError
        What cannot be computed, and why; or of how many rows there is no number.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        try:
            model = import_module("statsmodels.formula.api").ols(f"{formula.response} ~ {formula.right()}", rows)
        except Exception as error:  # a formula is code: whatever it raises
            raise ValueError(f"formula={formula.text!r} cannot be computed: {error}") from error
    response = np.asarray(model.endog, dtype=float)
    lost = len(rows) - int((np.isfinite(response) & np.isfinite(model.exog).all(axis=1)).sum())
    if lost:
        raise ValueError(f"formula={formula.text!r} has no number for {lost} of {len(rows)} rows, such as the log of zero: leave those out")
    return response


def _nodes(codes: Iterable[str]) -> Iterator[list[ast.expr | ast.arg]]:
    """Parse expressions; a quoted column is one node."""
    for code in codes:
        yield [node for node in ast.walk(ast.parse(code, mode="eval")) if isinstance(node, ast.expr | ast.arg)]


def _name(node: ast.AST) -> str | None:
    """Return the name that a node stands for, plain or quoted by Q."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Q" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        return str(node.args[0].value)
    return None
