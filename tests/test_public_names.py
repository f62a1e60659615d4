"""The public names: what `perfarray` offers, and that a method is its function."""

import inspect
import pydoc
import re
from pathlib import Path

import listing
import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.accessor import FrameAccessor, Method, Picture, PlotAccessor, TimingsAccessor
from perfarray.results.kinds import functions_by_question

TIMES = xr.DataArray(np.ones((2, 3)), dims=("execution", "iteration"))


def lines(accessor, kind):
    """Return the names that an accessor declares in a line each."""
    return sorted(name for name, value in vars(accessor).items() if isinstance(value, kind))


METHODS = lines(TimingsAccessor, Method)
PICTURES = lines(PlotAccessor, Picture)


def test_every_public_name_loads():
    """`__all__` is sorted; completion sees its names before they are loaded, and every one has a
    docstring with an example."""
    assert perfarray.__all__ == sorted(perfarray.__all__)
    assert set(perfarray.__all__) <= set(dir(perfarray))
    for name in perfarray.__all__:
        documented = getattr(perfarray, name).__doc__
        assert ">>>" in documented, name
        assert "Parameters" in documented, name


def test_every_public_name_answers_a_question():
    """Once, but for classes: the page of functions and the README's table are made of the kinds."""
    listed = re.findall(r"^   (\w+)$", listing.functions(), re.M)
    assert sorted(listed) == perfarray.__all__
    functions = [name for names in functions_by_question().values() for name in names]
    assert all(inspect.isclass(getattr(perfarray, name)) for name in {*listed} - {*functions})
    assert listing.TABLE.search(listing.README.read_text(encoding="utf-8"))[0] == listing.readme()


def test_every_method_is_on_the_accessor_page():
    """Once: those of timings, of pictures, and of long tables."""
    page = [(Path(__file__).parents[1] / "docs" / "accessor.md").read_text(encoding="utf-8")]
    listing.fill(None, "accessor", page)
    listed = re.findall(
        r"^   (Dataset\.perf\.plot|Dataset\.perf|DataFrame\.perf)\.(\w+)$", page[0], re.M
    )
    pictures = [name for name in vars(PlotAccessor) if not name.startswith("_")]
    names_by_heading = {
        "Dataset.perf": METHODS,
        "Dataset.perf.plot": pictures,
        "DataFrame.perf": lines(FrameAccessor, Method),
    }
    assert sorted(listed) == sorted(
        (heading, name) for heading, names in names_by_heading.items() for name in names
    )


def test_unknown_names_raise_attribute_error():
    """A typo is an AttributeError that names it."""
    with pytest.raises(AttributeError, match=r"perfarray.*comparre"):
        perfarray.comparre  # noqa: B018


def test_every_function_of_timings_is_a_method():
    """What takes a labelled array or a table first is a line of an accessor, under its own name."""
    functions = [name for name in perfarray.__all__ if inspect.isfunction(getattr(perfarray, name))]
    first = {
        name: str(next(iter(inspect.signature(getattr(perfarray, name)).parameters.values())))
        for name in functions
    }
    takes = {
        name
        for name, parameter in first.items()
        if ("xarray" in parameter or "pandas" in parameter) and "Mapping" not in parameter
    }
    assert takes == {*METHODS, *lines(FrameAccessor, Method)}


@pytest.mark.parametrize("name", METHODS)
def test_method_is_its_function(name):
    """An accessor method has the function's docstring, and its signature without the data; help
    shows both."""
    function, method = getattr(perfarray, name), getattr(TIMES.perf, name)
    assert method.__doc__ == function.__doc__
    parameters = list(inspect.signature(function).parameters.values())
    assert list(inspect.signature(method).parameters.values()) == parameters[1:]
    assert (
        inspect.signature(method).return_annotation == inspect.signature(function).return_annotation
    )
    assert getattr(TimingsAccessor, name) is function
    help_text = pydoc.plain(pydoc.render_doc(method))
    assert all(parameter.name in help_text for parameter in parameters[1:])
    assert inspect.getdoc(function).splitlines()[0] in help_text


@pytest.mark.parametrize("name", PICTURES)
def test_picture_takes_what_its_function_takes(name):
    """A picture has the signature of the function whose result it draws, and `ax`; its docstring
    holds the function's."""
    function, method = PlotAccessor.__dict__[name]._load(), getattr(TIMES.perf.plot, name)
    arguments = dict(inspect.signature(method).parameters)
    assert arguments.pop("ax").kind is inspect.Parameter.KEYWORD_ONLY
    assert list(arguments.values()) == list(inspect.signature(function).parameters.values())[1:]
    assert function.__doc__ in method.__doc__
    help_text = pydoc.plain(pydoc.render_doc(method))
    assert f"{name}(" in help_text
    assert "ax: " in help_text


def test_frame_methods_are_their_functions():
    """A long table has its own."""
    for name in lines(FrameAccessor, Method):
        assert getattr(FrameAccessor, name) is getattr(perfarray, name)


def test_accessor_keeps_the_object_and_nothing_else():
    """Nothing that an earlier call computed can reach a later one."""
    accessor = TIMES.perf
    accessor.counts()
    assert vars(accessor) == {"_object": TIMES} or list(vars(accessor)) == ["_object"]
    assert list(vars(accessor.plot)) == ["_object"]


@pytest.mark.parametrize(
    ("text", "completion"),
    [
        ("times.perf.comp", "compare"),
        ("times.perf.plot.inter", "intervals"),
        ('times.perf.compare("old", thres', "threshold="),
        ('times.perf.plot.intervals("old", a', "ax="),
    ],
)
def test_ipython_completes_names_and_arguments(text, completion):
    """Completion in IPython, with jedi as it comes, knows methods, pictures, and the arguments of
    both."""
    completer = pytest.importorskip(
        "IPython.core.completer", reason="IPython is not installed (2026-11-22)"
    )
    pytest.importorskip("jedi", reason="jedi is not installed (2026-11-22)")
    with completer.provisionalcompleter():
        times = TIMES.to_dataset(
            name="time"
        )  # as files are read; jedi looks at twice as much for a DataArray
        completions = completer.IPCompleter(namespace={"times": times}).completions(text, len(text))
        assert completion in {item.text for item in completions}


def public_functions():
    """Return the public functions, and the methods of the public classes, by name."""
    functions = {}
    for name in perfarray.__all__:
        public = getattr(perfarray, name)
        if inspect.isfunction(public):
            functions[name] = public
        elif inspect.isclass(public):
            members = {
                f"{name}.{key}": value
                for key, value in vars(public).items()
                if not key.startswith("_")
            }
            functions |= {
                key: getattr(value, "__func__", value)
                for key, value in members.items()
                if inspect.isroutine(value)
            }
    return functions


@pytest.mark.parametrize("name", public_functions())
def test_every_argument_is_described(name):
    """The section Parameters names the arguments of the signature, all of them and no other, and
    Returns is there."""
    function = public_functions()[name]
    docstring = inspect.cleandoc(function.__doc__)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n[A-Z][a-z]+\n-|\Z)", docstring, re.M | re.S)
    heads = [
        line.partition(" : ")[0]
        for line in (section[1] if section else "").split("\n")
        if line and not line.startswith(" ")
    ]
    described_names = [
        argument.strip().lstrip("*") for head in heads for argument in head.split(",")
    ]
    assert sorted(described_names) == sorted(
        set(inspect.signature(function).parameters) - {"self", "cls"}
    )
    assert "\nReturns\n---" in docstring


def test_arguments_after_the_data_are_keywords():
    """Nothing is positional but the data, what joins them, the baseline, a level, a mixture, a
    pattern of labels, a number of iterations or clusters."""
    positional = {"baseline", "level", "mixture", "n", "n_clusters", "others", "pattern", "second"}
    for name in METHODS:
        parameters = list(inspect.signature(getattr(perfarray, name)).parameters.values())[1:]
        assert all(
            p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or p.name in positional for p in parameters
        ), name


def test_accessor_never_raises_when_made():
    """`.perf` exists on anything; what is wrong is said at the call."""
    strange = xr.Dataset({"a": ("x", ["text"])})
    assert strange.perf is not None
    with pytest.raises(ValueError, match="which variable holds the measurements"):
        strange.perf.counts()
