"""Dates as files and people write them."""

import datetime

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from perfarray.timings.dates import dates_of, earliest_dates

DAYS = pd.date_range("2024-01-09", periods=24, tz="Europe/Berlin")

FORMATS = {
    "git": "%a %b %d %H:%M:%S %Y %z",
    "git's short days": "%a %b %-d %H:%M:%S %Y %z",
    "date(1)": "%a %b %d %H:%M:%S CET %Y",
    "RFC 2822": "%a, %d %b %Y %H:%M:%S %z",
    "ISO with a zone": "%Y-%m-%dT%H:%M:%S%z",
    "git's ISO": "%Y-%m-%d %H:%M:%S %z",
    "ISO without a zone": "%Y-%m-%d",
    "basic ISO": "%Y%m%dT%H%M%S",
    "slashes": "%Y/%m/%d %H:%M",
    "day first": "%d.%m.%Y",
    "day first, slashes and minutes": "%d/%m/%Y %H:%M",
    "month first": "%m/%d/%Y %I:%M %p",
    "month first, two digits": "%m/%d/%y",
    "words": "%A, %B %d, %Y",
    "short words": "%d-%b-%y",
    "one number": "%Y%m%d",
    "one number, day first": "%d%m%Y",
    "a place": "%Y-%m-%dT%H:%M:%S+01:00[Europe/Berlin]",
}


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_spellings(form):
    """The usual spellings are read; which number is the day, one label past the twelfth of a month
    says for all."""
    dates = dates_of(DAYS.strftime(form))
    assert (dates.dt.round("D").diff().dropna() == pd.Timedelta(days=1)).all()
    assert abs(dates[0] - DAYS[0]) <= pd.Timedelta("1h")


@pytest.mark.parametrize("unit", [1, 1e3, 1e6, 1e9])
def test_times_since_1970(unit):
    """Seconds, milliseconds, microseconds and nanoseconds since 1970 are told by their size, as
    numbers and as texts."""
    seconds = (
        DAYS.tz_convert("UTC").tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.int64)
    )
    for values in (seconds * int(unit), (seconds * int(unit)).astype(str), seconds * unit):
        assert (dates_of(values) == DAYS).all()
    assert (dates_of([f"{number} +0100" for number in seconds]) == DAYS).all()


def test_years_of_two_digits_are_those_from_1970_to_2069():
    assert dates_of(["1/20/69", "1/20/70", "1/20/99"]).dt.year.tolist() == [2069, 1970, 1999]


@pytest.mark.parametrize("text", ["03/04/2024", "03-04-2024 10:00", "24-01-02", "03/04/24"])
def test_dates_that_can_be_read_in_two_ways(text):
    """They are refused, by the text and what its first number may be."""
    with pytest.raises(
        ValueError, match=rf"the first number of '{text[:8]}\d*' may be the \w+ or the \w+"
    ):
        dates_of([text])


def test_texts_that_are_no_dates():
    """Versions, hashes, names and small numbers are no dates; what is unknown is NaT beside
    dates."""
    for labels in (
        ["1.2.10", "1.2.11"],
        ["v1", "v2"],
        ["0c3d1f", "19e704"],
        ["may", "june"],
        ["run-01.json"],
        ["10:00:00"],
        [1, 2],
        [0.5],
    ):
        assert dates_of(labels).isna().all(), labels
    for missing in ("unknown", "", "NaT", None, np.nan):
        assert dates_of(np.array([missing, "2024-01-20"], dtype=object)).isna().tolist() == [
            True,
            False,
        ]
    assert (
        dates_of(
            np.array(
                [datetime.date(2024, 1, 1), pd.Timestamp("2024-01-02 01:00+01:00")], dtype=object
            )
        )[1].day
        == 2
    )


def test_the_earliest_date_of_a_label():
    """Of runs with a date each, the first counts; without a date along the dim there is none."""
    stamps = xr.DataArray(
        [["2024-01-03", "2024-01-02"], ["unknown", "Mon Jan 1 09:00:00 2024"]],
        dims=("commit", "execution"),
    )
    assert earliest_dates(stamps, "commit").tolist() == [
        pd.Timestamp("2024-01-02", tz="UTC"),
        pd.Timestamp("2024-01-01 09:00", tz="UTC"),
    ]
    assert earliest_dates(stamps, "build").isna().all()
