"""Measured cases of PyTorch as a run, which build/compare sets beside another release's."""

import json
import shutil
from pathlib import Path

import pytest
import pytorch_cases as known
from vramfit_plots import accuracy_report as command
from vramfit_plots.accuracy import run
from vramfit_plots.accuracy.cases import recorded
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.accuracy.environment import Environment
from vramfit_plots.accuracy.names import row_names
from vramfit_plots.catalogues import load_cards
from vramfit_plots.files import BadInputError, data_dir
from vramfit_plots.run import load_run
from vramfit_plots.schemas import check

TRAINED = "PyTorch/train/tiny/bf16/adamw/batch:2/seq:128"
TALKED = "PyTorch/infer/tiny/fp16/batch:8/seq:64"


def folder_of(tmp_path: Path, *lines) -> Path:
    shutil.copy(data_dir() / "gpus.json", tmp_path)
    known.write(tmp_path, "pytorch_here", list(lines))
    return tmp_path


def rows_of(tmp_path: Path, *lines, off: float = 1.0) -> dict[str, dict]:
    comparison = compare(known.program(tmp_path, off), folder_of(tmp_path, *lines))
    document = run.document(comparison, "make accuracy")
    check(document, "the run", "bench")
    return {row["name"]: row for row in document["benchmarks"]}


def failed(result: dict) -> dict:
    return {"case": known.training(opt="sgd")["case"], "result": result}


def test_a_case_is_a_row_with_what_was_measured_and_predicted(tmp_path):
    row = rows_of(tmp_path, known.training(), off=0.5)[TRAINED]
    assert row["mem_allocated"] == 10e9
    assert row["mem_reserved"] == 11e9
    assert row["mem_device_used"] == 11.6e9
    assert row["pred_device_used"] == 5.8e9
    assert row["mem_step1_loaded_after"] == known.LOADED
    assert row["mem_step2_backward_after"] == 9e9
    assert row["pred_step2_backward_peak"] == 5e9
    assert row["oom"] == 0


def test_each_point_of_an_inference_and_a_largest_batch_have_rows(tmp_path):
    rows = rows_of(tmp_path, known.inference(), known.largest(4))
    assert rows[TALKED]["mem_allocated"] == known.LOADED + 9e9
    largest = rows["PyTorch/maxbatch/tiny/bf16/sgd/seq:128/cap_mib:24564"]
    assert (largest["mem_max_batch"], largest["pred_max_batch"]) == (4, 3)
    assert len(rows) == 3


def test_what_is_not_predicted_is_there_as_it_was_measured(tmp_path):
    rows = rows_of(tmp_path, known.training(), known.training(compile=True))
    row = rows[f"{TRAINED}/compile:default"]
    assert row["mem_allocated"] == 10e9
    assert "pred_allocated" not in row


def test_a_case_that_did_not_end_says_so(tmp_path):
    name = TRAINED.replace("adamw", "sgd")
    assert rows_of(tmp_path, known.training(), failed({"oom": "no 2 GiB"}))[name]["oom"] == 1
    row = rows_of(tmp_path, known.training(), failed({"timeout": True}))[name]
    assert (row["error_occurred"], row["error_message"]) == (True, "not done in time")


def test_of_a_case_measured_twice_the_first_counts(tmp_path):
    again = known.training()
    again["result"]["stages"]["step2.backward"] = known.reading(1)
    again["result"]["tokens_per_s"] = 70.0
    row = rows_of(tmp_path, known.training(), again)[TRAINED]
    assert row["mem_step2_backward_after"] == 9e9
    assert row["tokens_per_second"] == 70.0


def test_a_name_says_all_that_memory_depends_on():
    case = known.training(
        attn="eager", amp="bf16", accum=4, ckpt=True, lora={"r": 8, "targets": ["a", "b"]}
    )["case"]
    more = "attn:eager/autocast:bf16/accumulate:4/checkpoint:full/lora:8/targets:a,b"
    assert row_names(case, more=False) == [f"{TRAINED}/{more}"]
    assert row_names({**case, "timeout": 9, "time_steps": 3}, more=False) == [f"{TRAINED}/{more}"]
    assert row_names(known.training()["case"], more=True) == [f"{TRAINED}/by:more"]


def test_the_committed_cases_have_a_name_each():
    """What was measured twice took the same; bitsandbytes' int8 depends on the values."""
    first: dict = {}
    cases = recorded(data_dir() / "reference").cases
    for case in cases:
        before = first.setdefault(case.name, case)
        assert before.setting["arch"] == case.setting["arch"], case.name
        assert before.peak.get("peak", 0) == pytest.approx(case.peak.get("peak", 0), rel=1e-4), (
            case.name
        )
    assert 200 <= len(first) < len(cases)


@pytest.mark.parametrize(
    ("smi", "card"),
    [
        ("NVIDIA H200, 580.1, 143771 MiB", "h200"),
        ("NVIDIA GeForce RTX 3080, 580.1, 10240 MiB", "rtx3080-10gb"),
        ("NVIDIA GeForce RTX 3080, 580.1, 12288 MiB", "rtx3080-12gb"),
        ("NVIDIA A100-PCIE-40GB, 580.1, [N/A]", "a100-40gb"),
    ],
)
def test_fit_is_asked_about_the_card_that_was_measured(smi, card):
    cards = load_cards(data_dir() / "gpus.json")
    assert Environment(Path("x.jsonl"), {**known.ENV, "smi": smi}).card(cards) == card


def told(tmp_path: Path, capsys, *arguments: str) -> str:
    fit = ["--fit", str(known.program(tmp_path)), "--data", str(tmp_path)]
    assert command.main([*fit, "--out", str(tmp_path / "out"), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_card_that_is_not_in_the_catalogue_is_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(known.ENV, "smi", "Some GPU, 580, 9 MiB")
    folder_of(tmp_path, known.training())
    assert "no card in data/gpus.json is titled Some GPU" in told(tmp_path, capsys)


def test_a_run_is_of_one_release(tmp_path, capsys, monkeypatch):
    folder_of(tmp_path, known.training())
    monkeypatch.setitem(known.ENV, "torch", "2.12")
    known.write(tmp_path, "pytorch_new", [known.training()])
    assert "torch: its files were measured with 2.11 and 2.12" in told(tmp_path, capsys)
    one = tmp_path / "reference" / "pytorch_new.jsonl"
    fit = ["--fit", str(known.program(tmp_path)), "--data", str(tmp_path)]
    asked = [*fit, "--out", str(tmp_path / "out"), "--reference", str(one)]
    assert command.main(asked) == 0
    kept = load_run(tmp_path / "out" / "run.json")
    assert kept.context["torch"] == "2.12"
    assert kept.context["command"] == f"make accuracy REFERENCE={one}"
    assert list(kept.rows.index) == [TRAINED]


def test_cases_without_an_environment_are_a_line(tmp_path, capsys):
    folder_of(tmp_path)
    file = tmp_path / "reference" / "pytorch_here.jsonl"
    file.write_text(json.dumps(known.training()))
    assert "no line 'env'" in told(tmp_path, capsys)
    file.write_text("")
    assert "no case that fit can be asked" in told(tmp_path, capsys, "--reference", str(file))


def test_a_reference_that_is_not_there_is_a_line(tmp_path):
    with pytest.raises(BadInputError, match="nowhere"):
        recorded(tmp_path / "nowhere.jsonl")
