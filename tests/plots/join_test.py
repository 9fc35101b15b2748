"""Rows of the run, of the article and of PyTorch side by side."""

import json

import pytest
import synthetic
from vramfit_plots import units
from vramfit_plots.cells import Cell, sources_of, split
from vramfit_plots.files import AbsentError, data_dir
from vramfit_plots.sources import ARTICLE, MEASURED, PREDICTED, TORCH, TORCH_MEASURED
from vramfit_plots.units import MISSING

TABLE_1_ROW = "Inference/llama2-7b/fp16/batch:8/seq:2048"


def test_each_source_has_its_own_counter(measured):
    cell = measured.cell(TABLE_1_ROW, "allocated", 22.2e9)
    predicted = measured.run.rows.at[TABLE_1_ROW, "pred_allocated"]
    assert cell.figure(ARTICLE) == 22.2e9
    assert cell.figure(PREDICTED) == predicted
    assert cell.figure(PREDICTED) == predicted
    assert cell.figure(MEASURED) == predicted + synthetic.MEASURED_ABOVE


def test_pytorch_joins_by_row_name(inputs):
    lines = (data_dir() / "reference" / "pytorch_single_gpu.jsonl").read_text().splitlines()
    case = next(
        line["result"]
        for line in map(json.loads, lines)
        if line.get("case", {}).get("dtype") == "fp16" and line["case"]["mode"] == "infer"
    )
    point = next(p for p in case["points"] if (p["b"], p["s"]) == (8, 2048))
    assert inputs.cell(TABLE_1_ROW, "allocated").figure(TORCH_MEASURED) == point["peak"]
    assert inputs.cell(TABLE_1_ROW, "device_used").figure(TORCH_MEASURED) == point["device_used"]


def torch_peak(inputs, optimizer: str, end: str = "") -> float | None:
    row = f"Training/llama2-7b/bf16/{optimizer}/batch:4/seq:512{end}"
    return inputs.value(row, "pytorch_measured_allocated")


def test_pytorchs_optimizers_join_ours_of_the_same_name(inputs):
    assert 54e9 < torch_peak(inputs, "adamw-same") < 60e9
    # Its default AdamW takes a copy more while it steps.
    assert 67e9 < torch_peak(inputs, "adamw") < 68e9
    assert torch_peak(inputs, "sgd") < torch_peak(inputs, "sgd-momentum") < 54e9
    for optimizer in ("adamw-master", "sgd-master"):
        assert torch_peak(inputs, optimizer) is None


def test_fp32_weights_under_autocast_join_ours_with_masters(inputs):
    row = "Training/tinyllama-1.1b/bf16/adamw-master/batch:4/seq:1024"
    assert inputs.value(row, "pytorch_measured_allocated") > 16 * 1.1e9


def test_eager_attention_joins_ours_that_keeps_the_probabilities(inputs):
    eager = torch_peak(inputs, "adamw-same", "/attn:cublas")
    assert eager > torch_peak(inputs, "adamw-same")


def test_pytorch_is_predicted_beside_what_it_was_measured_to_take(inputs):
    cell = inputs.cell("Training/llama2-7b/bf16/adamw-same/batch:4/seq:512", "allocated")
    assert sources_of([cell]) == [PREDICTED, TORCH, TORCH_MEASURED]
    assert cell.figure(TORCH) == cell.figure(PREDICTED) + synthetic.TORCH_ABOVE


def test_a_model_of_another_size_does_not_join(inputs):
    """The reference's GPT-2 has more positions than the published one."""
    assert not inputs.rows.index.str.startswith("Training/gpt2-124m").any()
    assert inputs.rows.index.str.contains("qwen2-0.5b").any()


def test_a_figure_agrees_that_is_near_the_articles():
    cell = Cell({"article": 100.0, "predicted": 104.0, "measured": 94.0})
    assert cell.agrees(PREDICTED)
    assert not cell.agrees(MEASURED)
    assert not cell.agrees(TORCH), "there is none"
    assert Cell({"article": "OOM", "predicted": 0.0}, units.batch).agrees(PREDICTED)
    assert not Cell({"article": "OOM", "predicted": 3.0}, units.batch).agrees(PREDICTED)
    assert not Cell({"article": 0.0, "predicted": 3.0}).agrees(PREDICTED)


def test_what_is_not_there_is_none(inputs):
    assert inputs.value("Training/none", "pred_allocated") is None
    assert inputs.value(TABLE_1_ROW, "pred_no_such_counter") is None
    assert inputs.value(TABLE_1_ROW, "mem_allocated") is None
    assert inputs.value(None, "pred_allocated") is None
    with pytest.raises(AbsentError, match="Training/none"):
        inputs.need("Training/none", "pred_allocated")


def test_an_absent_figure_is_a_dash():
    assert Cell({}).text(PREDICTED) == MISSING
    assert Cell({"predicted": 2e9}).text(PREDICTED) == "2.0"
    assert Cell({"article": "96+"}).text(ARTICLE) == "96+"


def test_what_was_measured_stands_in_first():
    cell = Cell({"predicted": 1.0, "pytorch-predicted": 2.0, "pytorch-measured": 3.0})
    assert cell.best(PREDICTED) is PREDICTED
    assert cell.best(MEASURED) is TORCH_MEASURED
    assert Cell({"article": 1.0}).best(MEASURED) is None


def test_a_column_appears_when_it_has_figures():
    bare = [Cell({"article": 1.0})]
    assert sources_of(bare) == [ARTICLE]
    assert sources_of([*bare, Cell({"measured": 1.0})]) == [ARTICLE, MEASURED]
    torch = Cell({"pytorch-measured": 1.0, "measured": None})
    assert sources_of([torch]) == [TORCH_MEASURED]


def test_a_row_nearby_answers_where_its_own_does_not(inputs):
    near = {"row": TABLE_1_ROW, "as": "another case"}
    cell = inputs.cell("Inference/none", "allocated", 1.0, entry={"near": near})
    assert cell.figure(PREDICTED) == inputs.value(TABLE_1_ROW, "pred_allocated")
    assert cell.notes[PREDICTED.key] == "another case"
    assert inputs.cell(TABLE_1_ROW, "allocated", entry={"near": near}).notes.keys() == {"measured"}
    whose = {"vramfit": "ours", "PyTorch": "theirs"}
    both = inputs.cell("Inference/none", "allocated", entry={"near": near, "whose": whose})
    assert both.notes[PREDICTED.key] == "ours", "what a figure is of goes before what it is near"
    assert both.notes[TORCH.key] == "theirs"


def test_lora_checkpointing_and_quantised_weights_join_under_axes_of_their_own(inputs):
    row = "Training/llama2-7b/bf16/adamw-same/batch:4/seq:512"
    assert torch_peak(inputs, "adamw-same") > torch_peak(inputs, "adamw", "/lora:16")
    adapted = row.replace("adamw-same", "adamw")  # whose states are in FP32 as the adapters are
    assert inputs.value(f"{adapted}/lora:16", "pytorch_measured_trainable") == 8_388_608
    assert inputs.value(f"{adapted}/lora:16/checkpoint:full", "pytorch_measured_allocated") < 16e9
    assert torch_peak(inputs, "adamw-same", "/accumulate:4") > torch_peak(inputs, "adamw-same")
    checkpointed = row.replace("512", "2048") + "/checkpoint:full"
    assert inputs.value(checkpointed, "pytorch_measured_tokens_per_second") > 8000
    for weights in ("int8", "nf4"):
        quantised = f"Inference/llama2-7b/{weights}/batch:8/seq:2048"
        assert inputs.value(quantised, "pytorch_measured_allocated") < 20e9


def test_several_gpus_have_rows_too(inputs):
    row = "MultiGpu/llama2-7b/bf16/adamw-same/{}/batch:1/seq:2048/gpus:2"
    held = "pytorch_measured_step1_optimizer_after"
    assert inputs.value(row.format("ddp"), held) > 1.9 * inputs.value(row.format("fsdp"), held)


def test_a_deviation_splits_into_parameter_count_and_rest():
    assumed, true = 7.0e9, 6_738_415_616
    cell = Cell({"article": 84.0e9, "predicted": 12.0 * true + 30e6})
    parts = split(cell, proportional=84.0e9, assumed=assumed, true=true)
    assert parts.parameter_count == pytest.approx(12 * (true - assumed))
    assert parts.rest == pytest.approx(30e6)
    assert parts.total == pytest.approx(12.0 * true + 30e6 - 84.0e9)


def test_activations_do_not_scale_with_the_count():
    cell = Cell({"article": 22.4e9, "predicted": 20e9})
    parts = split(cell, proportional=14.0e9, assumed=7.0e9, true=6.3e9)
    assert parts.parameter_count == pytest.approx(-1.4e9)
    assert parts.rest == pytest.approx(-1.0e9)


def test_without_a_prediction_there_is_nothing_to_split():
    assert split(Cell({"article": 84.0e9}), 84.0e9, 7.0e9, 6.7e9) is None
    assert split(Cell({"predicted": 84.0e9}), 84.0e9, 7.0e9, 6.7e9) is None
