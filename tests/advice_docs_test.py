"""docs/advice.md: its tables are what `fit` and the measured data say, its rules hold."""

import pytest
from built import ROOT, program
from vramfit_plots.accuracy.cases import load_cases
from vramfit_plots.advice import rules
from vramfit_plots.advice.__main__ import tables
from vramfit_plots.files import data_dir
from vramfit_plots.tables import markdown_fragment

CASES = load_cases(data_dir() / "reference").askable


def test_the_tables_are_the_programs():
    shown = (ROOT / "docs" / "advice.md").read_text()
    for table in tables(program("fit"), data_dir()):
        for row in markdown_fragment(table).splitlines():
            if row.startswith("|"):
                assert row in shown, f"{table.key}: take it from python -m vramfit_plots.advice"


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.of)
def test_rules_hold_within_what_is_asked_for(rule):
    cases = rule.cases(CASES)
    assert len(cases) >= 2
    errors = {case.title: rule.error(case) for case in cases}
    assert {title: error for title, error in errors.items() if abs(error) > rules.ASKED_FOR} == {}
