"""The OOM cliff by strategy: the table of all there are, and memory against batch."""

import dataclasses
from itertools import combinations, pairwise

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from vramfit_plots.figures import style
from vramfit_plots.rows import parse, strategy_of
from vramfit_plots.sources import OURS, PREDICTED, THEIRS
from vramfit_plots.topics import oom_cliff
from vramfit_plots.topics.cliff_panels import apart
from vramfit_plots.topics.cliffs import alike, curves, load_cliffs
from vramfit_plots.units import MISSING, OOM

AXES = ("model", "precision", "optimizer")
LORA = "OomCliff/llama2-7b/int8/adamw/seq:512/lora:16/gpu:"


def strategy(row: str):
    return strategy_of(parse(row, AXES))


def with_rows(inputs, more: dict[str, dict[str, float]]):
    rows = pd.concat([inputs.rows, pd.DataFrame.from_dict(more, orient="index")])
    return dataclasses.replace(inputs, rows=rows)


@pytest.fixture
def adapted(inputs):
    """With LoRA on INT8 weights on two of the cards, as whoever runs it would have it."""
    rows = inputs.rows[~inputs.rows.index.str.startswith(LORA)]
    more = {
        f"{LORA}rtx4090": {"pred_max_batch": 5.0, "pred_device_used": 24e9},
        f"{LORA}h100-80gb": {"pred_max_batch": 40.0, "pred_device_used": 84e9},
        f"{LORA}h100-80gb/checkpoint:full": {"pred_max_batch": 300.0, "pred_device_used": 84.5e9},
    }
    return with_rows(dataclasses.replace(inputs, rows=rows), more)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("OomCliff/m/fp16/adamw/seq:512/gpu:h200", "m fp16 adamw, 512 tokens"),
        ("OomCliff/m/nf4/adamw/seq:512/lora:16/gpu:h200", "m nf4 adamw, LoRA 16, 512 tokens"),
        (
            "Training/m/bf16/sgd/batch:2/seq:512/checkpoint:full/every:2",
            "m bf16 sgd, 512 tokens, full checkpointing of 1 block of 2",
        ),
        ("Training/m/bf16/sgd/batch:2/seq:64/new:3", "m bf16 sgd, new 3, 64 tokens"),
    ],
)
def test_a_strategy_has_its_axes_in_words(row, words):
    assert strategy(row).words() == words
    assert strategy(row).words("model", "seq").startswith(row.split("/")[2])


def test_a_strategy_is_the_same_in_whichever_order_its_axes_stand():
    one, other = (
        strategy(f"OomCliff/m/int8/adamw/seq:512/{end}")
        for end in ("gpu:h200/lora:16/checkpoint:full", "lora:16/checkpoint:full/gpu:h100-80gb")
    )
    assert one == other
    assert one.stored == strategy("OomCliff/m/int8/adamw/seq:512/lora:16/gpu:h200")
    assert one.stored != one


def test_sixteen_bits_are_one_curve_and_eight_are_not():
    fp16, bf16, int8 = (
        alike(strategy(f"Training/m/{p}/sgd/batch:1/seq:8")) for p in ("fp16", "bf16", "int8")
    )
    assert fp16 == bf16 != int8


def table(inputs, key="table3_optimizers"):
    return next(table for table in oom_cliff.build(inputs) if table.key == key)


def cells(inputs, words, whose):
    return next(row[2:] for row in table(inputs).rows if row[:2] == [words, whose])


def test_every_strategy_of_the_run_is_in_the_table(inputs):
    """Whatever the sweep asks for, without a list of it."""
    asked = {
        strategy_of(inputs.run.parse(name))
        for name in inputs.run.rows.index
        if name.startswith("OomCliff/")
    }
    assert len(asked) > 6
    assert {row[0] for row in table(inputs).rows} == {one.words("seq") for one in asked}
    found = [
        inputs.value(f"OomCliff/llama2-7b/fp16/sgd/seq:512/gpu:{row['gpu']}", "pred_max_batch")
        for row in inputs.article.oom_cliff["rows"]
    ]
    predicted = cells(inputs, "llama2-7b fp16 sgd", PREDICTED.heading)
    assert predicted == [f"{n:.0f}" if n else "OOM" for n in found]
    assert predicted[0] == "OOM" != predicted[-1]


def test_a_strategy_that_the_sweep_gains_is_in_the_table_beside_the_article(adapted):
    lora = "llama2-7b int8 adamw, LoRA 16"
    assert cells(adapted, lora, "vramfit predicted") == ["5", MISSING, MISSING, "40"]
    assert cells(adapted, lora, "article") == ["8", MISSING, MISSING, "96+"]
    full = f"{lora}, full checkpointing"
    assert cells(adapted, full, "vramfit predicted")[-1] == "300"
    assert not any(row[:2] == [full, "article"] for row in table(adapted).rows)


def test_another_length_is_said_and_another_card_has_a_column(inputs):
    row = "OomCliff/llama2-7b/fp16/sgd/seq:2048/gpu:h200"
    more = with_rows(inputs, {row: {"pred_max_batch": 9.0, "pred_device_used": 140e9}})
    own = table(more)
    assert own.headings[2:] == ["24 GB", "40 GB", "48 GB", "80 GB", "H200"]
    assert cells(more, "llama2-7b fp16 sgd, 2048 tokens", "vramfit predicted")[-1] == "9"


@pytest.mark.parametrize("card", ["no-such-card", "24GB"])
def test_a_card_that_is_none_of_the_catalogue_is_left_out(inputs, card):
    row = f"OomCliff/llama2-7b/fp16/lion/seq:512/gpu:{card}"
    more = with_rows(inputs, {row: {"pred_max_batch": 9.0}})
    assert table(more).rows == table(inputs).rows


def test_the_largest_models_and_what_leaves_least_room_come_first(inputs):
    found = load_cliffs(inputs)
    sizes = [inputs.models[strategy.model].parameters for strategy in found.strategies]
    assert sizes == sorted(sizes, reverse=True)
    of_7b = [s.words("model", "seq") for s in found.strategies if s.model == "llama2-7b"]
    assert of_7b.index("fp16 adamw") < of_7b.index("fp16 adamw-same") < of_7b.index("fp16 sgd")


def test_what_is_left_over_is_of_what_fits(inputs):
    for row in table(inputs, "table3_answers").rows:
        assert (row[2] == OOM) == (row[3] == row[4] == MISSING), row


def cards(inputs):
    return [inputs.cards[row["gpu"]] for row in inputs.article.oom_cliff["rows"]]


def points(inputs, words, sources=OURS):
    found = curves(inputs, cards(inputs), sources)
    return next(points for s, points in found.items() if s.words("model", "seq") == words)


def test_the_cliff_marks_the_largest_batch_of_each_card(inputs):
    found = points(inputs, "16-bit sgd")
    assert [p.batch for p in found] == sorted(p.batch for p in found)
    assert {1, 2, 4, 8, 16} <= {p.batch for p in found if p.card is None}
    marked = {p.card.name: p for p in found if p.card}
    assert marked
    for name, point in marked.items():
        row = f"OomCliff/llama2-7b/fp16/sgd/seq:512/gpu:{name}"
        assert point.batch == inputs.value(row, "pred_max_batch")
        used = inputs.value(row, "pred_device_used")
        assert point.total == used + inputs.cards[name].driver_reserved
        assert point.total <= inputs.cards[name].vram
    assert "rtx4090" not in marked  # 4 B/param are more than it has
    picture = oom_cliff.draw(inputs)
    said = {text.get_text() for axes in picture.figure.axes for text in axes.texts}
    assert {f"{point.batch:.0f}" for point in marked.values()} <= said
    assert all(axes.get_ylim()[0] == 0 for axes in picture.figure.axes)


def test_the_cliffs_line_ends_where_memory_does(inputs):
    rows = inputs.rows.copy()
    # FP16 and BF16 are one line.
    for precision in ("fp16", "bf16"):
        rows.loc[f"Training/llama2-7b/{precision}/adamw/batch:16/seq:512", "oom"] = 1.0
    found = points(dataclasses.replace(inputs, rows=rows), "16-bit adamw")
    assert {p.batch for p in found if p.card is None} == {1, 2, 4, 8}


def test_measured_points_are_told_from_predicted_ones(inputs, measured):
    assert not any(point.measured for point in points(inputs, "16-bit sgd"))
    found = points(measured, "16-bit sgd")
    assert {p.batch for p in found if p.measured} == {p.batch for p in found if not p.measured}
    theirs = points(inputs, "16-bit adamw-same", THEIRS)
    assert {1, 2, 4, 8} <= {p.batch for p in theirs if p.measured}, "data/reference has them"


def test_every_recipe_has_a_panel_with_both_sides(adapted):
    with style.styled():
        picture = oom_cliff.draw(adapted)
    by_title = {axes.get_title(loc="left"): axes for axes in picture.figure.axes}
    assert {"16-bit adamw", "16-bit sgd", "int8 adamw, LoRA 16"} <= by_title.keys()
    assert not any("checkpointing" in title for title in by_title), "a line of the same panel"
    colors = {line.get_color() for line in by_title["16-bit sgd"].lines}
    assert set(style.LINE_OF.values()) <= colors
    names = [text.get_text() for text in picture.figure.legends[0].get_texts()]
    assert {"vramfit", "PyTorch", "full checkpointing", "the article's"} <= set(names)
    assert "vramfit, int8 adamw, LoRA 16, full checkpointing, 80 GB: 300" in picture.alt


def test_the_articles_batches_are_crosses_on_their_cards_lines(adapted):
    with style.styled():
        every = oom_cliff.draw(adapted).figure.axes
    panel = next(axes for axes in every if axes.get_title(loc="left") == "int8 adamw, LoRA 16")
    crosses = [line for line in panel.lines if line.get_marker() == "x"]
    found = {float(line.get_xdata()[0]): float(line.get_ydata()[0]) for line in crosses}
    vram = [card.vram / 1e9 for card in cards(adapted)]
    assert found == dict(zip((8.0, 32.0, 48.0, 96.0), vram, strict=True))


def test_the_line_in_the_batch_stands_beside_what_is_left_over(inputs):
    """Where bench counts it."""
    row = "OomCliff/llama2-7b/fp16/sgd/seq:512/gpu:h100-80gb"
    rows = inputs.rows.copy()
    rows.loc[row, ["pred_cliff_base", "pred_cliff_slope"]] = (14.5e9, 1.25e9)
    found = table(dataclasses.replace(inputs, rows=rows), "table3_answers").rows
    by_case = {tuple(row[:2]): row[-2:] for row in found}
    assert by_case["llama2-7b fp16 sgd", "H100 80GB"] == ["14.50", "1.25"]
    assert by_case["llama2-7b fp16 sgd", "A100 40GB"] == [MISSING, MISSING]
    assert "each adds" not in " ".join(table(inputs, "table3_answers").headings)


@pytest.mark.parametrize(
    ("places", "widths"),
    [([0.1, 0.5], [0.1, 0.1]), ([0.5, 0.5, 0.52, 0.9], [0.02, 0.06, 0.04, 0.1])],
)
def test_figures_stand_as_far_apart_as_they_are_wide(places, widths):
    moved = apart(places, widths)
    edges = [(m - w / 2, m + w / 2) for m, w in zip(moved, widths, strict=True)]
    assert all(b[0] >= a[1] - 1e-9 for a, b in pairwise(edges))
    assert moved[-1] == pytest.approx(places[-1]), "what overlaps nothing stays"


def test_no_figure_stands_on_another(inputs):
    """Nor do PyTorch's below a card's line on vramfit's above the next."""
    with style.styled():
        figure = oom_cliff.draw(inputs).figure
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    renderer = canvas.get_renderer()
    pairs = 0
    for axes in figure.axes:
        boxes = [text.get_window_extent(renderer).padded(-2) for text in axes.texts]
        for box, other in combinations(boxes, 2):
            assert not box.overlaps(other)
            pairs += 1
    assert pairs > 50
