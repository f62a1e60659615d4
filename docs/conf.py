"""Sphinx: `python -m sphinx -W -b html docs docs/_build`."""

import os
import subprocess
import sys
from pathlib import Path

import sphinx_autosummary_accessors
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from perfarray.accessor import PlotAccessor, TimingsAccessor

HERE = Path(__file__).parent
sys.path.append(str(HERE / "extensions"))

project = "perfarray"
author = "The perfarray developers"

extensions = [
    "myst_parser",
    "executed",
    "listing",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_autosummary_accessors",
]

exclude_patterns = ["_build", "changelog.d", "scripts", "extensions"]
templates_path = ["_templates", sphinx_autosummary_accessors.templates_path]

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
html_title = "perfarray"
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "show_prev_next": False,
}
html_sidebars = {"index": [], "changelog": []}
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

# Files that a page reads from the current folder. Data that are not ours to ship lie beside the
# checkout, or the page does not run.
SHARED = Path(os.environ.get("PERFARRAY_SHARED", HERE.parents[1] / "shared"))
page_files = {
    "tutorials/kalibera_fft": str(SHARED / "data/archives/research_csv/kalibera_fft/fft-10.csv.xz"),
    "evidence/kalibera_jones": str(HERE / "scripts/trust"),
}


def fill_changelog(_, docname, source):
    """Show the fragments of the coming release in the changelog, as towncrier will write them."""
    if docname == "changelog":
        command = [
            sys.executable,
            "-m",
            "towncrier",
            "build",
            "--draft",
            "--version",
            "0.1.0",
            "--date",
            "not released",
        ]
        draft = subprocess.run(
            command, cwd=HERE.parent, check=True, capture_output=True, text=True
        ).stdout
        marker = "<!-- towncrier: releases follow -->\n"
        source[0] = source[0].replace(marker, marker + "\n" + draft[draft.index("## ") :])


def remove_source_maps(app, _):
    """Remove what only developers of the theme read, a tenth of the site."""
    for file in Path(app.outdir, "_static").rglob("*.map"):
        file.unlink()


def write_formula(translator, node):
    """Write a formula as MathML, which browsers set by themselves: without scripts, and without a
    network."""
    translator.body.append(tex2mathml(node.astext(), node.tagname == "math_block"))
    raise nodes.SkipNode


class PicturesOfClass(property):
    """The property `plot`, whose pages are made from the class, where a property has no members."""

    def __get__(self, accessor, owner=None):
        return PlotAccessor if accessor is None else super().__get__(accessor, owner)


TimingsAccessor.plot = PicturesOfClass(TimingsAccessor.plot.fget)


def setup(app):
    """Connect what is above."""
    app.connect("source-read", fill_changelog)
    app.connect("build-finished", remove_source_maps)
    app.connect(
        "env-get-outdated", lambda *_: ["changelog"]
    )  # its fragments are files of their own
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
