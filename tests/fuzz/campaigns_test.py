"""The campaigns of `make fuzz`, short and always the same: their cases hold to what is promised."""

import commands
import pytest
import questions
import reports
from campaign import campaign

# First seed, and how many.
CAMPAIGNS = {
    "questions": (questions.check, 1, 120),
    "commands": (commands.check, 1, 400),
    "reports": (reports.check, 1, 24),
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_short_campaign(name):
    check, first, count = CAMPAIGNS[name]
    figures = campaign(check, count, first)
    assert figures.cases == count
    assert [(case.seed, case.command, case.broken) for case in figures.broken] == []
