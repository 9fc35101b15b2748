import dataclasses

import pytest
from matplotlib.colors import to_hex
from vramfit_plots import figures
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.units import NOT_YET, gb


def texts(picture):
    return [text.get_text() for axes in picture.figure.axes for text in axes.texts]


def bars(axes, look):
    """Lengths of the bars of one look that have any."""
    return [
        max(patch.get_width(), patch.get_height())
        for patch in axes.patches
        if to_hex(patch.get_facecolor()) == look.color.lower() and patch.get_width() > 0
    ]


def test_inference_bars_are_the_tables_figures(inputs):
    picture = figures.inference.draw(inputs)
    left, right = picture.figure.axes
    for axes, batch, seq in ((left, 1, 512), (right, 8, 2048)):
        expected = [
            inputs.value(f"Inference/llama2-7b/{p}/batch:{batch}/seq:{seq}", "pred_allocated") / 1e9
            for p in ("fp32", "fp16", "bf16")
        ]
        assert bars(axes, style.PREDICTED) == pytest.approx(expected)
        assert len(bars(axes, style.ARTICLE)) == 5
    assert texts(picture).count(NOT_YET) == 4
    assert left.get_xlim()[0] == 0


def test_a_measured_run_draws_a_bar_more(inputs, measured):
    assert not bars(figures.inference.draw(inputs).figure.axes[0], style.MEASURED)
    assert len(bars(figures.inference.draw(measured).figure.axes[0], style.MEASURED)) == 3


def test_multi_gpu_draws_no_prediction_yet(inputs):
    picture = figures.multi_gpu.draw(inputs)
    for axes in picture.figure.axes:
        assert not bars(axes, style.PREDICTED)
        assert len(bars(axes, style.ARTICLE)) == 3
    assert texts(picture).count(NOT_YET) == 6
    assert "8 bytes a parameter, its code 16" in picture.caption.note
    assert "predicted" not in picture.caption.signature


def test_the_waterfalls_peak_is_the_sum_of_its_parts(inputs):
    picture = figures.waterfall.draw(inputs)
    peak = picture.figure.axes[1]
    row = "Training/llama2-7b/fp16/adamw/batch:4/seq:512"
    total = inputs.value(row, "pred_allocated")
    assert sum(patch.get_height() for patch in peak.patches) == pytest.approx(total / 1e9)
    assert gb(total) in texts(picture)
    assert peak.get_ylim()[0] == 0
    assert peak.get_ylim()[1] > 84.0


def test_the_cliff_marks_the_largest_batch_of_each_card(inputs):
    cards = [inputs.cards[row["gpu"]] for row in inputs.article.oom_cliff["rows"]]
    points = figures.oom_cliff.points(inputs, "sgd", cards)
    assert [p.batch for p in points] == sorted(p.batch for p in points)
    assert {1, 2, 4, 8, 16} <= {p.batch for p in points if p.card is None}
    marked = {p.card.name: p for p in points if p.card}
    assert marked
    for name, point in marked.items():
        row = f"OomCliff/llama2-7b/fp16/sgd/seq:512/gpu:{name}"
        assert point.batch == inputs.value(row, "pred_max_batch")
        used = inputs.value(row, "pred_device_used")
        assert point.total == used + inputs.cards[name].driver_reserved
        assert point.total <= inputs.cards[name].vram
    assert "rtx4090" not in marked  # 4 B/param are more than it has
    picture = figures.oom_cliff.draw(inputs)
    assert picture.figure.axes[0].get_ylim()[0] == 0
    assert {f"{point.batch:.0f}" for point in marked.values()} <= set(texts(picture))


def test_the_cliffs_line_ends_where_memory_does(inputs):
    rows = inputs.rows.copy()
    rows.loc["Training/llama2-7b/fp16/adamw/batch:16/seq:512", "oom"] = 1.0
    out_of_memory = dataclasses.replace(inputs, rows=rows)
    points = figures.oom_cliff.points(out_of_memory, "adamw", [inputs.cards["h100-80gb"]])
    assert {p.batch for p in points if p.card is None} == {1, 2, 4, 8}


@pytest.mark.parametrize("module", [figures.inference, figures.waterfall, figures.oom_cliff])
def test_without_its_rows_a_picture_names_what_is_missing(poor, module):
    with pytest.raises(AbsentError, match="llama2-7b"):
        module.draw(poor)


def test_parts_are_told_apart_without_colour():
    looks = [(look.hatch, look.color) for look in style.BY_CATEGORY.values()]
    assert len(set(looks)) == len(looks)
    hatched = [look.hatch for look in style.BY_CATEGORY.values() if look.hatch]
    assert len(set(hatched)) == len(hatched)
    sources = [look.hatch for look in style.BY_SOURCE.values()]
    assert len(set(sources)) == len(sources)
