"""The campaigns of `make fuzz`, short and always the same: their cases hold to what is promised."""

import commands
import pytest
import questions
import reports
from campaign import campaign


@pytest.mark.parametrize(
    ("check", "count"),
    [
        pytest.param(questions.check, 60, id="questions"),
        pytest.param(commands.check, 200, id="commands"),
        pytest.param(reports.check, 6, id="reports"),
    ],
)
def test_a_short_campaign(check, count):
    figures = campaign(check, count)
    assert figures.cases == count
    assert [(case.seed, case.command, case.broken) for case in figures.broken] == []
