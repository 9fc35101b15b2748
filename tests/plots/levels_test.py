"""What rows take beyond what is allocated."""

import pytest
from vramfit_plots.files import AbsentError
from vramfit_plots.topics import levels as topic
from vramfit_plots.topics.levels import measured_levels, pytorch_shares


def test_parts_add_up_to_what_the_card_lost(measured):
    for levels in measured_levels(measured):
        total = levels.allocated + levels.pool + levels.overhead + levels.unattributed
        assert total == measured.value(levels.row, "mem_device_used")
        assert levels.share == pytest.approx(total / levels.allocated - 1)


def test_rows_that_were_only_predicted_have_none(inputs):
    with pytest.raises(AbsentError):
        measured_levels(inputs)
    assert [table.key for table in topic.build(inputs)] == ["levels_pytorch"]


def test_pytorchs_cases_are_counted_from_the_data(inputs):
    """Each large case once, on one side or the other of the article's range."""
    found = pytorch_shares(inputs)
    shares = [
        case.peak["device_used"] / case.peak["peak"] - 1
        for case in inputs.reference.cases
        if case.peak["peak"] > 5e9
    ]
    assert found.count == len(shares) > 100
    assert found.below == sum(share < found.low for share in shares)
    assert found.above == sum(share > found.high for share in shares)
    assert found.below + found.within + found.above == found.count
    (table, *_) = topic.build(inputs)
    kinds = [[int(count) for count in row[1:5]] for row in table.rows[1:]]
    assert len(kinds) == 5
    assert [sum(counts) for counts in zip(*kinds, strict=True)] == [
        int(count) for count in table.rows[0][1:5]
    ], "each case is of one kind"
    assert table.rows[0][1:5] == [
        str(n) for n in (found.count, found.below, found.within, found.above)
    ]
