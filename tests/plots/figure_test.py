import dataclasses

import pytest
from matplotlib.colors import to_hex
from vramfit_plots.figures import style
from vramfit_plots.files import AbsentError
from vramfit_plots.report import chapters
from vramfit_plots.sources import PREDICTED
from vramfit_plots.topics import article, inference, multi_gpu, oom_cliff, waterfall
from vramfit_plots.units import gb


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
    picture = inference.draw(inputs)
    left, right = picture.figure.axes
    for axes, batch, seq in ((left, 1, 512), (right, 8, 2048)):
        expected = [
            inputs.value(f"Inference/llama2-7b/{p}/batch:{batch}/seq:{seq}", "pred_allocated") / 1e9
            for p in ("fp32", "fp16", "bf16", "int8", "nf4", "fp8")
        ]
        assert bars(axes, style.PREDICTED) == pytest.approx(expected)
        assert len(bars(axes, style.ARTICLE)) == 5
        assert len(bars(axes, style.TORCH_MEASURED)) == 5, "INT8 and INT4 were measured too"
    assert left.get_xlim()[0] == 0


def legend(picture) -> set[str]:
    return {text.get_text() for text in picture.figure.legends[0].get_texts()}


def test_a_side_is_drawn_as_measured_where_it_was(inputs, measured):
    assert "vramfit predicted" in legend(inference.draw(inputs))
    assert legend(inference.draw(measured)) == {
        "article",
        "vramfit measured",
        "PyTorch measured",
    }


def test_multi_gpu_has_the_articles_table_its_code_and_pytorch(inputs):
    picture = multi_gpu.draw(inputs)
    for axes in picture.figure.axes:
        assert len(bars(axes, style.ARTICLE)) == 3
        assert bars(axes, style.TORCH), "predicted for every cell that PyTorch has"
    assert picture.title.endswith(
        "8 bytes a parameter of the article's table, not the 16 of its code"
    )


def test_the_multi_gpu_title_names_who_has_figures_and_of_what(inputs):
    """vramfit's, of data parallel alone."""
    rows = inputs.rows.drop(columns=[c for c in inputs.rows if "optimizer_after" in c])
    row = inputs.article.multi_gpu["rows"][0]["cells"][0]["row"]
    counter = f"{PREDICTED.prefix}step1_optimizer_after"
    rows[counter] = float("nan")
    rows.loc[row, counter] = 8.0 * inputs.models["llama2-13b"].parameters
    own = dataclasses.replace(inputs, rows=rows)
    assert multi_gpu.draw(own).title.startswith("In data parallel vramfit holds the 8 ")
    rows.loc[row, counter] *= 1.2
    title = multi_gpu.draw(own).title
    assert title.startswith("The article's table counts 8 bytes")
    assert multi_gpu.draw(own).signature == "article and vramfit predicted"


@pytest.mark.parametrize(
    ("gone", "start"),
    [
        ((), "At bs=8, 2048 tokens every precision differs from "),
        (("int8", "nf4"), "At bs=8, 2048 tokens FP32, FP16 and BF16 differ from "),
        (("fp32", "fp16", "int8", "nf4"), "At bs=8, 2048 tokens BF16 differs from "),
        (("fp32", "fp16", "bf16", "int8", "nf4"), "The article alone has figures at "),
    ],
)
def test_the_inference_title_names_the_precisions_it_is_of(inputs, gone, start):
    rows = inputs.rows.drop(
        index=[f"Inference/llama2-7b/{precision}/batch:8/seq:2048" for precision in gone]
    )
    assert inference.draw(dataclasses.replace(inputs, rows=rows)).title.startswith(start)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.5, "takes 0 to 50 % more than the article says"),
        (0.5, "differs from the article by \N{MINUS SIGN}50 % to 0 %"),
    ],
)
def test_the_inference_title_has_signs_where_some_take_less(inputs, factor, said):
    rows = inputs.rows.copy()
    for row in inputs.article.inference["rows"]:
        point = row["points"][-1]
        rows.loc[point["row"], ["pred_allocated", "pytorch_measured_allocated"]] = (
            point["peak"] * 1e9
        )
    rows.loc["Inference/llama2-7b/fp32/batch:8/seq:2048", "pred_allocated"] = factor * 44.5e9
    title = inference.draw(dataclasses.replace(inputs, rows=rows)).title
    plain = title.replace("\N{NO-BREAK SPACE}", " ")
    assert plain == f"At bs=8, 2048 tokens every precision {said}"


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        (inference, "PyTorch measured: bitsandbytes' LLM.int8(); bitsandbytes' NF4."),
        (waterfall, "PyTorch measured: in BF16,"),
    ],
)
def test_a_caption_says_of_which_other_case_bars_are(measured, topic, remark):
    assert remark in topic.draw(measured).note


def test_the_waterfalls_peaks_are_the_sums_of_their_parts(inputs):
    picture = waterfall.draw(inputs)
    peak = picture.figure.axes[1]
    row = "Training/llama2-7b/fp16/adamw/batch:4/seq:512"
    total = inputs.value(row, "pred_allocated")
    ours = [patch for patch in peak.patches if patch.get_x() < 1]
    assert sum(patch.get_height() for patch in ours) == pytest.approx(total / 1e9)
    assert gb(total) in texts(picture)
    assert gb(inputs.value(row, "pytorch_allocated")) in texts(picture)
    assert [tick.get_text() for tick in peak.get_xticklabels()] == ["vramfit", "PyTorch"]
    assert peak.get_ylim()[0] == 0


def test_a_headline_is_computed(inputs):
    """It says what the figures say, also when they change."""
    rows = inputs.rows.copy()
    row = "OomCliff/llama2-7b/fp16/adamw/seq:512/gpu:h100-80gb"
    rows.loc[row, ["pred_max_batch", "pytorch_max_batch"]] = (0.0, 77.0)
    title = oom_cliff.draw(dataclasses.replace(inputs, rows=rows)).title
    assert title.endswith("the article says OOM, vramfit OOM, PyTorch fits batch 77")


DRAWN = {key: topic for key, topic in chapters().items() if hasattr(topic, "draw")}


@pytest.mark.parametrize("key", [key for key in DRAWN if key not in {"ops", "accuracy"}])
def test_a_picture_has_its_finding_as_its_title(measured, key):
    picture = DRAWN[key].draw(measured)
    assert picture.key == key
    drawn = picture.figure.get_suptitle()
    if picture.figure.legends:
        drawn = drawn or picture.figure.legends[0].get_title().get_text()
    assert drawn.replace("\n", " ") == picture.title
    assert any(character.isdigit() for character in picture.title)


def test_the_articles_tables_are_in_one_picture(measured):
    with style.styled():
        picture = article.draw(measured)
    titles = [axes.get_title(loc="left") for axes in picture.figure.axes]
    assert [title.split(".")[0] for title in titles] == [f"Table {i}" for i in range(1, 5)]
    cells = [text.get_text() for text in picture.figure.axes[2].texts]
    assert cells.count("OOM → ") == 8, "the article's"
    assert picture.figure.get_size_inches()[0] == 9


@pytest.mark.parametrize("module", [inference, waterfall, oom_cliff])
def test_without_its_rows_a_picture_names_what_is_missing(poor, module):
    with pytest.raises(AbsentError, match="llama2-7b"):
        module.draw(poor)


def test_parts_are_told_apart_without_colour():
    looks = [(look.hatch, look.color) for look in style.BY_CATEGORY.values()]
    assert len(set(looks)) == len(looks)
    hatched = [look.hatch for look in style.BY_CATEGORY.values() if look.hatch]
    assert len(set(hatched)) == len(hatched)
    sources = [(look.hatch, look.color) for look in style.BY_SOURCE.values()]
    assert len(set(sources)) == len(sources)
