"""Each item must say its figures, and be gone when the article no longer disagrees."""

import copy
import dataclasses
import shutil

import pytest
import pytorch_cases
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import Inputs
from vramfit_plots.topics.wrong import ITEMS, contradictions
from vramfit_plots.topics.wrong_figures import BY_NAME

TITLES = [item.title for item in ITEMS]


@pytest.fixture(scope="module")
def inputs(inputs, tmp_path_factory) -> Inputs:
    """With what the article's calculator says of cases measured in PyTorch, and a prompt that takes
    more than its cache."""
    folder = tmp_path_factory.mktemp("reference")
    shutil.copy(data_dir() / "gpus.json", folder)
    cases = [pytorch_cases.training(), pytorch_cases.training(opt="sgd")]
    pytorch_cases.write(folder, "pytorch_single_gpu", cases)
    accuracy = compare(pytorch_cases.program(folder), folder)
    rows = inputs.rows.copy()
    rows.loc["Inference/llama2-7b/fp16/batch:8/seq:2048", "pred_allocated"] += 1.5e9
    return dataclasses.replace(inputs, accuracy=accuracy, rows=rows)


@pytest.fixture
def own(inputs) -> Inputs:
    """A copy to change."""
    return dataclasses.replace(
        inputs,
        run=dataclasses.replace(inputs.run, rows=inputs.run.rows.copy()),
        article=copy.deepcopy(inputs.article),
        models=dict(inputs.models),
        rows=inputs.rows.copy(),
        reference=copy.deepcopy(inputs.reference),
    )


def text_of(inputs: Inputs, title: str) -> str | None:
    return next((text for found, text in contradictions(inputs).found if found == title), None)


def stage(inputs: Inputs, name: str):
    return next(row for row in inputs.article.waterfall["rows"] if row["stage"] == name)


def rounded_parameters(own):
    own.models["llama2-7b"] = dataclasses.replace(own.models["llama2-7b"], parameters=7_000_000_000)


def calculators_total(own):
    stage(own, "optimizer")["memory"] = 112.0


def same_activations(own):
    """In the table, its formula, the prediction and PyTorch."""
    forward = 14.0 + 12 * 4096 * 512 * 32 * 2 * 4 / 1e9
    stage(own, "forward")["memory"] = forward
    row = own.article.waterfall["rows"][0]["row"]
    own.rows.loc[row, "pred_step1_loaded_after"] = 14.0e9
    own.rows.loc[row, "pred_step1_forward_after"] = forward * 1e9
    own.rows["pytorch_measured_step1_loaded_after"] = 14.0e9
    own.rows["pytorch_measured_step1_forward_after"] = forward * 1e9


def states_as_in_torch(own):
    stage(own, "optimizer")["memory"] = 53.97


def no_growth(own):
    peaks = [c for c in own.rows.columns if c.startswith("pred_step1_") and c.endswith("_peak")]
    own.rows["pred_allocated"] = own.rows[peaks].max(axis=1)


def nothing_fits(own):
    own.rows["pred_max_batch"] = 0.0


def true_cache(own):
    own.article.claim("kv_cache_total")["value"] = 8.59


def one_cache(own):
    rows = {row["precision"]: row for row in own.article.inference["rows"]}
    rows["FP32"]["points"][-1]["peak"] = 28.0 + 8.2
    rows["INT4"]["points"][-1]["peak"] = 3.5 + 2.147


def nothing_but_the_cache(own):
    row = "Inference/llama2-7b/fp16/batch:8/seq:2048"
    for prefix in ("pred_", "pytorch_"):
        parts = own.rows.loc[row, [f"{prefix}parameters", f"{prefix}kv_cache"]]
        own.rows.loc[row, f"{prefix}allocated"] = parts.sum()


def bare_files(own):
    true = own.models["llama2-7b"].parameters
    own.reference.llamacpp_bytes.update({"Q8_0": true, "Q4_0": true // 2})


def code_that_answers(own):
    own.rows.loc[own.rows.index.str.startswith("Article/"), "article_max_batch"] = 7.0


def sixteen_bytes(own):
    for row in own.article.multi_gpu["rows"]:
        for cell in row["cells"]:
            cell["memory"] *= 2


def looser_rules(own):
    own.article.claim("rules_of_thumb")["value"] = 1000


def more_outside(own):
    for case in own.reference.cases:
        case.peak["device_used"] = int(1.15 * case.peak["peak"])


AGREEING = {
    "7B is not 7 billion": (rounded_parameters, "6,738,415,616"),
    "Table 2 and its calculator": (calculators_total, "112.0 + 6.4"),
    "Activations": (same_activations, "8.4 in Table 2, 6.4 by the article's factor of 12"),
    "torch.optim.AdamW keeps other states": (states_as_in_torch, "54.0 after"),
    "The peak comes after the first step": (no_growth, "batch 16 of 2048 tokens"),
    "7B with Adam does fit": (nothing_fits, "OOM at every size"),
    "The KV cache's size": (true_cache, "8.59"),
    "The KV cache and precision": (one_cache, "16.5 to FP32 and 8.2\N{NO-BREAK SPACE}GB to FP16"),
    "Peak less model is not the cache": (nothing_but_the_cache, "peak less model"),
    "INT8 and INT4 take more": (bare_files, "1.06 (Q8_0) and 0.57 (Q4_0)"),
    "Table 3's last column": (code_that_answers, "8, 32, 48, 96+"),
    "Table 4 and its code": (sixteen_bytes, "give 208, 104, 52"),
    "The rules of thumb": (looser_rules, "2 cases measured in PyTorch"),
    "What the allocator does not see": (more_outside, "measured in PyTorch"),
}


def test_every_item_has_its_figures_and_none_is_idle():
    assert BY_NAME.keys() == {item.figures for item in ITEMS}


def test_every_item_is_tested():
    assert set(AGREEING) == set(TITLES)


@pytest.mark.parametrize("title", TITLES)
def test_an_item_says_its_figures(inputs, title):
    assert AGREEING[title][1] in text_of(inputs, title)


@pytest.mark.parametrize("title", TITLES)
def test_an_item_is_dropped_when_it_no_longer_holds(own, title):
    AGREEING[title][0](own)
    result = contradictions(own)
    assert title not in dict(result.found)
    assert title not in result.unknown


def test_sentences_are_computed(own):
    """Not typed: the article's figure is the one that the sentence has."""
    stage(own, "optimizer")["memory"] = 91.0
    assert "Table 2 ends its optimizer step at 91.0" in text_of(own, "Table 2 and its calculator")
    assert "master weights" not in text_of(own, "Table 2 and its calculator")
    own.rows.loc[own.rows.index.str.startswith("OomCliff/llama2-7b"), "pred_max_batch"] = 77.0
    assert "batch 77 with m and v in FP32 (predicted)" in text_of(own, "7B with Adam does fit")


MEASURED_TOO = (
    "Activations",
    "The peak comes after the first step",
    "7B with Adam does fit",
    "Peak less model is not the cache",
)


@pytest.mark.parametrize("title", MEASURED_TOO)
def test_what_was_measured_is_called_so(inputs, measured, title):
    rows = measured.rows.copy()
    rows.loc["Inference/llama2-7b/fp16/batch:8/seq:2048", "mem_allocated"] += 1.5e9
    on_a_gpu = dataclasses.replace(measured, rows=rows)
    ours, theirs = (
        text_of(run, title).replace("in PyTorch (predicted)", "") for run in (inputs, on_a_gpu)
    )
    assert "(predicted)" in ours
    assert "(predicted)" not in theirs
    assert theirs.count("(measured)") > ours.count("(measured)")


def test_rows_out_of_memory_are_no_example(own):
    big = own.rows.index.str.startswith("Training/llama2-7b/fp16/adamw/batch:16/seq:2048")
    own.rows.loc[big, "oom"] = 1.0
    assert "batch 16 of 2048" not in text_of(own, "The peak comes after the first step")


def test_the_formula_is_held_against_runs_that_completed(own):
    training = own.rows.index.str.startswith("Training/") & own.rows["pred_allocated"].notna()
    own.rows.loc[training, "oom"] = 1.0
    own.rows.loc["Training/llama2-7b/fp16/adamw/batch:4/seq:512", "oom"] = 0.0
    assert "over 1 predicted rows" in text_of(own, "The rules of thumb")


def test_a_run_without_the_rows_cannot_tell(poor):
    result = contradictions(poor)
    assert "Activations" in result.unknown
    assert "7B with Adam does fit" in result.unknown
    # This rests on the article alone.
    assert "The KV cache's size" in dict(result.found)
