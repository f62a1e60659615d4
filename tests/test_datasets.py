"""The shipped archive of simulated machines: it is what its script makes."""

import runpy
import zipfile

import perfarray


def test_the_archive_is_what_its_script_makes():
    """Its files are the reports that the script simulates, name by name and text by text."""
    path = perfarray.dataset_path("cpu_archive")
    reports = runpy.run_path(str(path.parent / "measurement" / "simulate_cpu_archive.py"))[
        "reports"
    ]
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == dict(reports())
