"""Reference cases played under `vramfit run`: what was as measured stays so, to the byte."""

import os

import pytest
from exact import picture, table
from exact.cases import KINDS, LEVELS, Case, every_case, readings
from exact.comparison import compared, kept, lost, told
from exact.standin import played
from stood_in import EXACT, ROOT, needs_torch
from vramfit_plots.tables import markdown_fragment

ALL = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"
# The quickest that have something of their own, of all kinds but the search for a largest batch.
PLAYED = (
    "pytorch_families/gemma3-270m/train/bf16/sgd/b:2/s:777/eager",
    "pytorch_single_gpu/qwen2-0.5b/train/fp32/adamw/bf16/b:2/s:512/ckpt",
    "pytorch_more/tinyllama-1.1b/train/fp32/bf16/adamw_fused/b:4/s:1024/accum:2",
    "pytorch_families/qwen3-8b-6l/infer/bf16/3x900/eager",
    "pytorch_more/tinyllama-1.1b/infer/bf16/1x512/pretrained",
    "pytorch_companions/sd-vae/infer/diffusion/fp16/1x64,4x64,1x128",
    "pytorch_trainers/qwen3-0.6b/SFT/seq:1024/bf16/per_device_train_batch_size:4",
    f"pytorch_trainers/qwen3-0.6b/DPO/seq:512/bf16/lora:16/{ALL}/per_device_train_batch_size:2",
    "pytorch_more_families/olmoe-1b-7b/train/bf16/adamw_fused/b:2/s:1024",
    "pytorch_more_families/deepseek-v2-s/infer/bf16/1x512,4x1024",
    "pytorch_ranks/qwen3-0.6b/fsdp/gpus:2/bf16/b:2/s:1024/adamw_fused",
    "pytorch_ranks/qwen3-0.6b/ddp/gpus:4/bf16/b:2/s:1024/adamw_fused",
    "pytorch_more/tinyllama-1.1b/train/bf16/adamw8bit/b:4/s:1024",
    "pytorch_more/tinyllama-2l/train/bf16/adamw_fused/b:4/s:1024/compile",
)


@pytest.fixture(scope="module")
def lines():
    cases = [case for case in every_case() if case.name in PLAYED]
    found = played(cases, EXACT, len(os.sched_getaffinity(0)))
    return {case.name: compared(case, found[case.name]) for case in cases}


@needs_torch
@pytest.mark.parametrize("name", PLAYED)
def test_what_was_as_measured_is(lines, name):
    assert lost(kept(), [lines[name]]) == []


def test_those_that_are_played_are_of_all_kinds():
    of = {case.name: case.kind for case in every_case()}
    assert {of[name] for name in PLAYED} == {*KINDS} - {"largest batch"}


def test_the_kept_lines_are_of_every_case():
    assert {line["name"] for line in kept()} == {case.name for case in every_case()}


def test_the_docs_show_these_figures():
    shown = (ROOT / "docs" / "accuracy.md").read_text()
    table_rows = markdown_fragment(table.build(kept(), every_case())).splitlines()
    for row in [*table_rows, picture.markdown(picture.draw(kept(), every_case()))]:
        assert row in shown, "data/exact.jsonl is of another run: `make exact-kept`, take exact.md"


CASE = Case(
    "pytorch_more",
    "h200",
    "measure_pytorch_more",
    {"model": "m", "arch": {}, "mode": "infer", "points": [[1, 512]], "lora": {"r": 16}},
    {"load": dict.fromkeys(LEVELS, 100), "1x512": dict.fromkeys(LEVELS, 200)},
)


def result(**off):
    point = {level: 200 + off.get(level, 0) for level in LEVELS}
    return {
        "name": CASE.name,
        "seconds": 1.0,
        "host": 0,
        "result": {"load": dict.fromkeys(LEVELS, 100), "points": [{"b": 1, "s": 512, **point}]},
    }


def test_a_case_is_named_by_what_was_asked():
    assert CASE.name == "pytorch_more/m/infer/1x512/r:16"
    assert CASE.kind == "generation"


def test_readings_are_told_apart_by_stage():
    timed = {"timed": dict.fromkeys(LEVELS, 3)}
    found = readings({"points": [{"b": 1, "s": 2, **dict.fromkeys(LEVELS, 1), **timed}]})
    assert found == {"1x2": dict.fromkeys(LEVELS, 1), "1x2.timed": dict.fromkeys(LEVELS, 3)}
    assert readings({"max_batch": 4, "trials": [[1, True]]}) == {"max_batch": {"batch": 4}}


def test_a_difference_is_told_and_counted():
    line = compared(CASE, result(peak=2, device_used=-1))
    assert line["differences"] == {"1x512": {"peak": 2, "device_used": -1}}
    assert told(line) == [f"{CASE.name} 1x512: peak +2, device_used -1"]
    total = table.summed([(CASE, line)])
    assert (total.readings, total.peaks, total.levels, total.device) == (2, 1, 1, 2)
    assert (total.as_measured, total.worst) == (0, 0.01)
    assert table.summed([(CASE, compared(CASE, result()))]).as_measured == 1


def test_what_is_worse_than_before_is_found():
    equal, off = compared(CASE, result()), compared(CASE, result(peak=2))
    more = compared(CASE, result(peak=2, alloc=1))
    failed = compared(CASE, {**result(), "result": {"error": "no"}})
    assert lost([off], [equal]) == lost([off], [off]) == lost([failed], [off]) == []
    assert lost([equal], [off]) == [f"{CASE.name} 1x512: peak +2"]
    assert lost([off], [more]) == [f"{CASE.name} 1x512: alloc +1"]
    assert lost([off], [failed]) == [f"{CASE.name}: no"]
    assert table.summed([(CASE, failed)]).peaks == 0


def test_a_reading_that_is_not_there_is_a_failure():
    assert compared(CASE, {**result(), "result": {}})["failed"] == "no reading 1x512"


def test_the_picture_counts_what_the_table_counts():
    off = {**result(peak=2), "name": CASE.name}
    drawn = picture.draw([compared(CASE, result()), compared(CASE, off)], [CASE])
    assert "in 1 of 2 cases" in drawn.title
    assert "generation 1 of 2; the largest error is +1.00" in drawn.alt
    failed = compared(CASE, {**result(), "result": {"error": "no"}})
    assert "in 0 of 1 cases" in picture.draw([failed], [CASE]).title
