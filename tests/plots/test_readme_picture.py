"""The picture of the README is what its script draws now."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_the_picture_of_the_readme_is_what_its_script_draws():
    """It is small, the README shows it, and every word and number in it is one that is drawn today,
    whatever Matplotlib's version."""
    spec = importlib.util.spec_from_file_location(
        "readme_picture", ROOT / "docs" / "scripts" / "readme_picture.py"
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    stored = ROOT / re.search(
        r"!\[.+\]\((\S+\.svg)\)", (ROOT / "README.md").read_text(encoding="utf-8")
    ).group(1)
    assert stored.stat().st_size < 40_000
    stored, redrawn = (
        re.findall(r"<text [^>]*>([^<]+)<", text)
        for text in (stored.read_text(encoding="utf-8"), script.picture())
    )
    assert stored == redrawn
    assert "string_search" in stored
