"""Where the material shared with the tests lies, when it is there; and how hypothesis draws.

The same examples are drawn in every run, so that a run says something about the change and not about luck. To look for more, run
`pytest --hypothesis-profile=default` (with `--hypothesis-seed=N` to repeat what was found).
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None)
settings.load_profile("fixed")

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture
def shared():
    """Return a function that finds a file or folder of the shared material, or skips."""

    def find(*parts: str) -> Path:
        path = SHARED.joinpath(*parts)
        if not path.exists():
            pytest.skip(f"needs the shared material ({'/'.join(parts)}), which is not beside this checkout (since 2026-11)")
        return path

    return find
