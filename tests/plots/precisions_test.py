"""What the weights are stored in: memory by batch and sequence, and what rounding costs."""

import dataclasses

import pytest
from vramfit_plots.files import AbsentError
from vramfit_plots.sources import MEASURED, PREDICTED
from vramfit_plots.topics import precisions, rounding
from vramfit_plots.topics.precisions import Point, load_precisions
from vramfit_plots.units import gb

ROW = "Inference/llama2-7b/nf4/batch:8/seq:2048"


def test_every_format_has_a_line_at_every_point_the_largest_first(inputs):
    table = precisions.build(inputs)[0]
    heads = [row[0] for row in table.rows]
    assert heads == ["fp32", "bf16", "fp8", "int8", "int8-wo", "nf4", "int4"]
    last = next(row for row in table.rows if row[0] == "nf4")[-1]
    assert last == gb(inputs.need(ROW, "pred_allocated"))


def test_what_was_measured_is_shown_where_all_was(inputs, measured):
    assert load_precisions(inputs).source is PREDICTED
    assert load_precisions(measured).source is MEASURED
    rows = measured.rows.copy()
    rows.loc[ROW, "mem_allocated"] = None
    assert load_precisions(dataclasses.replace(measured, rows=rows)).source is PREDICTED


def test_bars_are_what_a_peak_is_made_of(measured):
    picture = precisions.draw(measured)
    found = load_precisions(measured)
    assert len(picture.figure.axes) == len(found.points) == 4
    for axes, point in zip(picture.figure.axes, found.points, strict=True):
        ends = {}
        for bar in axes.patches:
            ends[round(bar.get_y(), 2)] = bar.get_x() + bar.get_width()
        peaks = [found.bytes(p, point, "allocated") / 1e9 for p in found.precisions]
        assert list(ends.values()) == pytest.approx(peaks)
    assert "int4 stores the weights in 27 % of bf16's bytes" in picture.title.replace("\xa0", " ")


def test_rounding_is_of_measured_runs_alone(inputs, measured):
    assert rounding.build(inputs)[0].rows == []
    with pytest.raises(AbsentError, match="logits_error"):
        rounding.draw(inputs)
    table = rounding.build(measured)[0]
    assert [row[0] for row in table.rows] == ["bf16", "fp8", "int8", "int8-wo", "nf4", "int4"]
    assert table.rows[0][2:] == ["0.50", "3.0010", "3.0000", "+0.0010"]
    assert "nothing of quality" in table.note
    assert "nothing of quality" in rounding.draw(measured).note


def test_names_of_points_do_not_stand_on_each_other(measured):
    """fp8, int8 and int8-wo take the same memory and, here, cost the same."""
    for axes in rounding.draw(measured).figure.axes:
        places = sorted(text.xy[1] for text in axes.texts if text.get_text() in {"fp8", "int8"})
        assert places[1] - places[0] > 0.06


def test_a_run_without_other_precisions_has_neither(poor):
    for make in (precisions.build, precisions.draw, rounding.build):
        with pytest.raises(AbsentError):
            make(poor)


def test_a_format_that_lacks_a_point_is_left_out(inputs):
    run = dataclasses.replace(inputs.run, rows=inputs.run.rows.drop(index=ROW))
    found = load_precisions(dataclasses.replace(inputs, run=run))
    assert "nf4" not in found.precisions
    assert Point(8, 2048) in found.points
