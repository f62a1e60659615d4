"""Where the archives of genuine files lie that are not ours to copy: beside the checkout, or where
PERFARRAY_SHARED says."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).resolve().parents[2] / "shared"))
ARCHIVES = SHARED / "data" / "archives"

needs_archives = pytest.mark.skipif(
    not ARCHIVES.is_dir(),
    reason=f"the archives of genuine files are not in {ARCHIVES} (since 2026-11)",
)
