"""Every claim of the article has an answer, or says why there is none."""

import copy
import dataclasses

import pytest
from vramfit_plots.formula_errors import errors_in_run
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH, TORCH_MEASURED
from vramfit_plots.topics import claims
from vramfit_plots.topics.claims import answer
from vramfit_plots.units import MISSING, gb


@pytest.fixture
def own(inputs):
    """A copy to change."""
    article = copy.deepcopy(inputs.article)
    return dataclasses.replace(inputs, rows=inputs.rows.copy(), article=article)


def of(inputs, claim_id):
    return answer(inputs, inputs.article.claim(claim_id))


def test_every_claim_has_a_figure_or_a_stated_reason(measured):
    for claim in measured.article.claims:
        found = answer(measured, claim)
        assert found.figures or "reply" in claim, claim["id"]
        assert found.verdict.endswith("."), claim["id"]
        assert "cannot tell" not in found.verdict, claim["id"]


def test_the_table_has_a_line_for_each(inputs):
    (table,) = claims.build(inputs)
    assert [row[0] for row in table.rows] == [claim["text"] for claim in inputs.article.claims]


def test_a_run_without_the_rows_cannot_tell(poor):
    found = of(poor, "kv_cache_total")
    assert not found.figures
    assert "This run cannot tell" in found.verdict


def test_what_the_article_never_says_is_no_claim(own):
    """A claim that no function answers and that has no reply is a mistake in the data."""
    with pytest.raises(KeyError):
        answer(own, {"id": "unheard_of", "text": "", "row": None})


def test_figures_are_the_rows(inputs):
    true = inputs.models["llama2-7b"].parameters
    assert of(inputs, "kv_bytes_per_token").figures[PREDICTED].startswith("262,144")
    assert of(inputs, "master_weights_extra").figures[PREDICTED].startswith(gb(4 * true))
    assert of(inputs, "master_weights_optimizer").figures[PREDICTED].startswith(gb(12 * true))
    assert of(inputs, "lora_parameters").figures[TORCH_MEASURED] == "803 times fewer"


@pytest.mark.parametrize(
    ("claim_id", "counter", "value", "verdict"),
    [
        ("kv_cache_total", "kv_cache", 8.2e9, "Holds"),
        ("kv_cache_total", "kv_cache", 9e9, "Does not hold"),
        ("adam_7b_does_not_fit", "max_batch", 0.0, "Holds"),
        ("adam_7b_does_not_fit", "max_batch", 1.0, "Does not hold"),
        ("over_80_at_any_batch", "device_used", 90e9, "Holds"),
        ("opening_fp32", "device_used", 20e9, "Does not hold"),
        ("opening_fp16", "device_used", 20e9, "Holds"),
        ("cache_larger_than_int4", "kv_cache", 5e9, "Holds"),
    ],
)
def test_a_verdict_is_computed(own, claim_id, counter, value, verdict):
    row = own.article.claim(claim_id)["row"]
    for prefix in ("pred_", "pytorch_", "pytorch_measured_"):
        own.rows.loc[row, prefix + counter] = value
    assert of(own, claim_id).verdict.startswith(verdict)


def test_sides_that_disagree_are_named(own):
    row = own.article.claim("adam_7b_does_not_fit")["row"]
    own.rows.loc[row, ["pred_max_batch", "pytorch_max_batch"]] = (0.0, 4.0)
    found = of(own, "adam_7b_does_not_fit")
    assert found.verdict.startswith("Holds for vramfit, not for PyTorch")
    assert found.figures == {PREDICTED: "OOM", TORCH: "batch 4"}


def test_checkpointing_that_saves_more_than_claimed_is_told(inputs):
    found = of(inputs, "checkpointing_memory")
    assert found.figures[TORCH_MEASURED] == "12.6 times less"
    assert "it saves more" in found.verdict


def test_activations_are_judged_by_what_a_token_takes(own):
    found = of(own, "activations_linear")
    assert found.verdict.startswith("Holds")
    assert found.figures[PREDICTED] == "3,000\N{NO-BREAK SPACE}kB\na token", "all take the same"
    row = "Training/llama2-7b/fp16/adamw/batch:16/seq:2048"
    own.rows.loc[row, "pred_step1_forward_after"] *= 3
    assert not of(own, "activations_linear").verdict.startswith("Holds,")


def test_what_the_allocator_does_not_see_is_judged_on_pytorch_too(inputs):
    found = of(inputs, "outside_the_allocator")
    assert TORCH_MEASURED in found.figures
    assert "measured in PyTorch" in found.verdict


def test_a_claim_without_figures_keeps_its_reply(inputs):
    (table,) = claims.build(inputs)
    reply = inputs.article.claim("fp16_quality")["reply"]
    row = next(row for row in table.rows if row[1] == reply)
    assert set(row[2:]) == {MISSING}


def test_master_weights_are_no_state_of_pytorchs(measured):
    assert TORCH not in of(measured, "master_weights_extra").figures


def test_data_parallel_saves_nothing_and_takes_more_where_it_has_buckets(measured):
    found = of(measured, "data_parallel_saves_nothing")
    assert found.verdict.startswith("Holds. PyTorch takes 13.5 GB more of each")
    assert found.figures[TORCH_MEASURED] == "67.5 on each of 2\n54.0 on one"


def timed(inputs, row, **figures):
    rows = inputs.rows.copy()
    for name, value in figures.items():
        rows.loc[row, name] = value
    return dataclasses.replace(inputs, rows=rows)


def untimed(inputs):
    rows = inputs.rows.copy()
    rows["tokens_per_second"] = float("nan")
    return dataclasses.replace(inputs, rows=rows)


def test_scaling_is_judged_by_one_gpu_on_the_same_work(measured):
    whole = "MultiGpu/llama2-7b/bf16/adamw-same/ddp/batch:1/seq:2048/gpus:{}"
    slow = timed(untimed(measured), whole.format(1), tokens_per_second=100.0)
    found = of(timed(slow, whole.format(2), tokens_per_second=190.0), "data_parallel_throughput")
    assert found.figures[MEASURED] == "1.90 times on 2 GPUs, 1 \N{MULTIPLICATION SIGN} 2048"
    assert "vramfit: holds, 95" in found.verdict
    worse = timed(slow, whole.format(2), tokens_per_second=140.0)
    assert "vramfit: in part, 70" in of(worse, "data_parallel_throughput").verdict


def test_a_pipelines_bubble_is_set_beside_its_formula(measured):
    row = measured.article.claim("pipeline_throughput")["near"]["row"]
    alone = row.replace("/pipeline/", "/ddp/").replace("gpus:2", "gpus:1")
    slow = timed(untimed(measured), alone, tokens_per_second=100.0)
    both = timed(slow, row, tokens_per_second=170.0, bubble=0.15, pred_bubble=1 / 9)
    found = of(both, "pipeline_throughput")
    assert found.verdict.startswith("Holds. The bubble on 2 GPUs")
    assert "15" in found.verdict and "11" in found.verdict
    faster = timed(both, row, tokens_per_second=201.0)
    assert of(faster, "pipeline_throughput").verdict.startswith("Does not hold.")


def accumulated(inputs, **speeds):
    """The claim's answer where the rows of one micro-batch, of four and of 16 sequences at once
    were measured this fast."""
    start = "Training/llama2-7b/bf16/adamw-same/batch:"
    rows = inputs.rows.copy().drop(columns=["pytorch_measured_tokens_per_second"])
    ends = {"micro": "4/seq:512", "four": "4/seq:512/accumulate:4", "whole": "16/seq:512"}
    for name, end in ends.items():
        rows.loc[f"{start}{end}", "tokens_per_second"] = speeds.get(name, float("nan"))
    return of(dataclasses.replace(inputs, rows=rows), "accumulation_time")


def test_accumulation_takes_as_many_times_the_time(inputs):
    found = accumulated(inputs, micro=10_000, four=10_400, whole=11_000)
    assert found.figures == {
        MEASURED: "3.8 times one of 4\n\N{MINUS SIGN}5\N{NO-BREAK SPACE}% for 16 at once"
    }
    assert found.verdict.startswith("Holds within 10")
    assert "at once save at most 5" in found.verdict


def test_accumulation_that_is_slower_does_not_hold(inputs):
    assert accumulated(inputs, micro=10_000, four=5_000).verdict.startswith("Does not hold")


def test_without_one_micro_batchs_time_nothing_is_judged(inputs):
    found = accumulated(inputs, four=10_000, whole=11_000)
    assert found.verdict.startswith("Nobody timed one micro-batch alone")
    assert "cannot tell" in accumulated(inputs).verdict


def test_accumulated_memory_is_a_range_where_sides_differ(measured):
    assert (
        " to 13.2\N{NO-BREAK SPACE}GB more than one alone" in of(measured, "accumulation").verdict
    )


def test_the_formula_is_not_judged_by_what_it_has_no_argument_for(own):
    """It knows neither checkpointing nor adapters."""
    before = errors_in_run(own)
    checkpointed = own.rows.index.str.contains("/checkpoint:")
    assert checkpointed.any()
    own.rows.loc[checkpointed, "article_formula"] *= 100
    assert errors_in_run(own).equals(before)
    own.rows.loc["Training/llama2-7b/bf16/sgd/batch:1/seq:512", "article_formula"] *= 100
    assert not errors_in_run(own).equals(before)


def test_loras_parameters_are_counted_on_both_sides_where_both_are(own):
    row = own.article.claim("lora_parameters")["row"]
    assert of(own, "lora_parameters").figures[PREDICTED] == "800 times fewer"
    own.rows.loc[row, "params_trained"] = own.models["llama2-7b"].parameters / 50
    found = of(own, "lora_parameters")
    assert found.figures == {PREDICTED: "50 times fewer", TORCH_MEASURED: "803 times fewer"}
    assert found.verdict == (
        "Holds for PyTorch, not for vramfit: rank 16 on q_proj and v_proj; on every linear 150 "
        "times fewer."
    )


def test_what_more_adapters_come_to_is_told_from_the_articles_range(own):
    every = own.article.claim("lora_parameters")["near"]["row"]
    own.rows.loc[every, "params_trained"] = own.models["llama2-7b"].parameters / 40
    found = of(own, "lora_parameters").verdict
    assert found.startswith("Holds: ")
    assert found.endswith("on every linear 40 times fewer, which is out of its range.")
