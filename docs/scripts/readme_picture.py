"""The picture of the README: what `verdicts.perf.plot()` of its ten lines draws of the shipped
timings.

python docs/scripts/readme_picture.py docs/_static/verdicts.svg
"""

import argparse
from pathlib import Path

import matplotlib as mpl

import perfarray


def picture() -> str:
    """Return the forest plot as SVG whose letters are text: small, and read by whoever cannot see
    it."""
    verdicts = perfarray.load_dataset("c_suite").perf.compare("O2", threshold=0.02)
    with mpl.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "backend": "agg"}):
        return verdicts.perf.plot.svg()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.parse_args().output.write_text(picture(), encoding="utf-8")
