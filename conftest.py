"""What tests and examples in docstrings share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test or an example leaves open: Matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
