"""Lists of functions, methods, pictures and formats, made from the kinds of results and the docstrings.

A page has a marker, such as `<!-- functions by question -->`, where Sphinx finds the list. The
table of the README is written into the file: `python docs/extensions/listing.py`.
"""

import re
from pathlib import Path

import perfarray
from perfarray.accessor import FrameAccessor, Method, Picture, PlotAccessor, TimingsAccessor
from perfarray.results.kinds import KINDS, functions_by_question
from perfarray.results.variables import COMPARED

README = Path(__file__).parents[2] / "README.md"
TABLE = re.compile(r"(?<=<!-- methods -->\n).*?(?=\n<!-- end of methods -->)", re.S)


def autosummary(module: str, names: list[str], template: str = "") -> str:
    """Return the table that Sphinx makes of some names."""
    options = [":toctree: generated", *([f":template: {template}"] if template else [])]
    lines = [f".. currentmodule:: {module}", ".. autosummary::"]
    lines += [f"   {option}" for option in [*options, ":nosignatures:"]]
    return "\n".join(["```{eval-rst}", *lines, "", *(f"   {name}" for name in names), "```"])


def functions() -> str:
    """Return all public names by the question they answer; classes come last."""
    questions = functions_by_question()
    rest = sorted({*perfarray.__all__}.difference(*questions.values()))
    sections = {**questions, "classes": rest}
    return "\n\n".join(
        f"## {question[0].upper()}{question[1:]}\n\n{autosummary('perfarray', names)}"
        for question, names in sections.items()
    )


def methods(owner: type) -> list[str]:
    """Return the public names that an accessor declares."""
    return sorted(
        name
        for name, value in vars(owner).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, Method | Picture))
    )


def accessor(prefix: str, owner: type) -> str:
    """Return the methods of an accessor."""
    kind, _, path = prefix.partition(".")
    module = "pandas" if kind == "DataFrame" else "xarray"
    names = [f"{kind}.{path}.{name}" for name in methods(owner)]
    return autosummary(module, names, "autosummary/accessor_method.rst")


def readme() -> str:
    """Return the table of methods by question."""
    rows = [
        f"| {question} | {', '.join(f'`{name}`' for name in names)} |"
        for question, names in functions_by_question().items()
    ]
    return "\n".join(["| question | functions |", "| --- | --- |", *rows])


def formats() -> str:
    """Return what the docstring of each reader says."""
    return "\n".join(
        f"- **`{row.Index}`** {row.what} {row.details}" for row in perfarray.formats().itertuples()
    )


def variables() -> str:
    """Return the names of the variables of each result that are not those of every comparison."""
    rows = [
        f"| `{name}` | {', '.join(f'`{variable}`' for variable in own_names)} |"
        for name, kind in KINDS.items()
        if name in perfarray.__all__
        and (own_names := sorted({*kind.names.split()} - {*COMPARED.split()}))
    ]
    return "\n".join(["| function | variables |", "| --- | --- |", *rows])


LISTS = {
    "variables of results": variables,
    "formats": formats,
    "functions by question": functions,
    "methods": lambda: accessor("Dataset.perf", TimingsAccessor),
    "pictures": lambda: accessor("Dataset.perf.plot", PlotAccessor),
    "methods of tables": lambda: accessor("DataFrame.perf", FrameAccessor),
}


def fill(_, docname, source):
    """Replace the markers of a page by their lists."""
    if docname in ("api", "accessor", "conventions", "formats"):
        for name, make in LISTS.items():
            source[0] = source[0].replace(f"<!-- {name} -->", make())


def write_stubs(app):
    """Write the pages of the names in the lists, as autosummary does for those it finds in files."""
    from sphinx.ext.autosummary.generate import generate_autosummary_docs  # tests lack Sphinx

    file = Path(app.srcdir, "_listing.rst")
    file.write_text("\n\n".join(make() for make in LISTS.values()), encoding="utf-8")
    try:
        generate_autosummary_docs(
            [str(file)],
            suffix=".rst",
            app=app,
            imported_members=app.config.autosummary_imported_members,
            overwrite=app.config.autosummary_generate_overwrite,
        )
    finally:
        file.unlink()


def setup(app):
    """Write the pages of functions, and fill the lists as pages are read."""
    app.connect("builder-inited", write_stubs)
    app.connect("source-read", fill)


if __name__ == "__main__":
    README.write_text(TABLE.sub(readme(), README.read_text(encoding="utf-8")), encoding="utf-8")
