"""An archive of a few files."""

import pytest

from readers.files_of_our_own import small_suite, write


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two versions, two machines and two sessions each."""
    for v, version in enumerate(("new", "old")):
        for m, machine in enumerate(("m1", "m2")):
            for session in (9, 10):
                content = small_suite(
                    100.0 * v + 10 * m + session, hostname=f"host{m}", cpu_model_name="same"
                )
                write(tmp_path / "results" / version / f"{machine}_{session}.json", content)
    return tmp_path / "results"
