"""Sphinx: `python -m sphinx -W -b html docs docs/_build`."""

import subprocess
import sys
from pathlib import Path

project = "perfarray"
author = "The perfarray developers"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

exclude_patterns = ["_build", "changelog.d", "scripts"]
html_theme = "pydata_sphinx_theme"

# Code blocks are executed and compared by tests/test_docs.py.
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False


def fill_changelog(_, docname, source):
    """Show the fragments of the coming release in the changelog, as towncrier will write them."""
    if docname == "changelog":
        command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "0.1.0", "--date", "not released"]
        draft = subprocess.run(command, cwd=Path(__file__).parents[1], check=True, capture_output=True, text=True).stdout
        marker = "<!-- towncrier: releases follow -->\n"
        source[0] = source[0].replace(marker, marker + "\n" + draft[draft.index("## ") :])


def setup(app):
    """Connect what is above."""
    app.connect("source-read", fill_changelog)
