"""Sphinx: `python -m sphinx -W -b html docs docs/_build`."""

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
