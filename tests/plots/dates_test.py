import pytest
from vramfit_plots.run import UNDATED, instant


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-11-22T01:00:00+02:00", "2026-11-21T23:30:00+00:00"),
        ("2026-11-21T23:30:00Z", "2026-11-21T20:00:00-05:00"),
        ("2026-11-21T23:30:00", "2026-11-21T23:30:01+00:00"),
        ("unknown", "2020-01-01T00:00:00+00:00"),
        ("0001-01-01T00:00:00+10:00", "2020-01-01T00:00:00+00:00"),
    ],
)
def test_instants_and_not_texts_are_in_order(earlier, later):
    assert instant(earlier) < instant(later)


@pytest.mark.parametrize("text", ["", "None", "unknown", "yesterday"])
def test_what_is_no_date_is_undated(text):
    assert instant(text) == UNDATED
