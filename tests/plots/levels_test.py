"""What rows take beyond what is allocated."""

import pytest
from vramfit_plots.errors import AbsentError
from vramfit_plots.levels import measured_levels
from vramfit_plots.tables import levels as levels_table


def test_parts_add_up_to_what_the_card_lost(measured):
    for levels in measured_levels(measured):
        total = levels.allocated + levels.pool + levels.overhead + levels.unattributed
        assert total == measured.value(levels.row, "mem_device_used")
        assert levels.share == pytest.approx(total / levels.allocated - 1)


def test_rows_that_were_only_predicted_have_none(inputs):
    with pytest.raises(AbsentError):
        measured_levels(inputs)
    assert levels_table.build(inputs) == []
