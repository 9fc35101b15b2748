"""The accuracy of predictions of PyTorch, on a small reference and a program in `fit`'s place."""

import shutil
from dataclasses import replace

import pytest
import pytorch_cases as known
from vramfit_plots import accuracy_report as command
from vramfit_plots.accuracy.bounds import BOUNDS
from vramfit_plots.accuracy.cases import load_cases
from vramfit_plots.accuracy.comparison import BY_STAGE, LARGEST, Accuracy, compare
from vramfit_plots.accuracy.fit import article_flags, flags
from vramfit_plots.accuracy.rivals import FORMULAS, rivals, wrong
from vramfit_plots.captions import commands
from vramfit_plots.files import AbsentError, BadInputError, data_dir
from vramfit_plots.tables import text_table
from vramfit_plots.topics import accuracy as topic


def folder_of(tmp_path, *lines):
    shutil.copy(data_dir() / "gpus.json", tmp_path)
    known.write(tmp_path, "pytorch_here", list(lines))
    return tmp_path


def compared(tmp_path, *lines, off: float = 1.0) -> Accuracy:
    return compare(known.program(tmp_path, off), folder_of(tmp_path, *lines))


def flags_of(tmp_path, line) -> list[list[str]]:
    cases = load_cases(folder_of(tmp_path, line) / "reference").askable
    return [flags(case)[2:] for case in cases]


def test_a_case_is_asked_as_it_was_run(tmp_path):
    train = ["--train", "--optimizer"]
    size = ["--seq", "128", "--batch", "2"]
    assert flags_of(tmp_path, known.training()) == [["--precision", "bf16", *size, *train, "adamw"]]
    lora = {"r": 16, "targets": ["q_proj", "v_proj"]}
    more = known.training(dtype="fp32", opt="sgdm", amp="fp16", attn="eager", ckpt=True, lora=lora)
    assert flags_of(tmp_path, more) == [
        [
            *["--precision", "fp32", *size, *train, "sgd-momentum", "--autocast", "fp16"],
            *["--attention", "eager", "--checkpoint", "full"],
            *["--lora", "16", "--lora-targets", "q_proj,v_proj"],
        ]
    ]


def test_the_article_is_asked_with_the_optimizers_that_it_knows(tmp_path):
    lines = (known.training(opt="adamw_fused"), known.training(opt="sgdm"))
    cases = load_cases(folder_of(tmp_path, *lines) / "reference").askable
    start = ["--runtime", "article", "--precision", "bf16", "--seq", "128", "--batch", "2"]
    for case, optimizer in zip(cases, ("adam", "sgd"), strict=True):
        assert article_flags(case) == [*start, "--train", "--optimizer", optimizer]


def test_each_point_of_an_inference_is_a_case(tmp_path):
    start = ["--precision", "fp16", "--seq", "64", "--batch"]
    assert flags_of(tmp_path, known.inference(new_tokens=8)) == [
        [*start, batch, "--generate", "8", "--unpadded"] for batch in ("1", "8")
    ]
    assert flags_of(tmp_path, known.inference())[0][-3:] == ["--generate", "1", "--unpadded"]


def test_a_prompt_that_likely_holds_padding_is_asked_so(tmp_path):
    """Tokens are drawn from 0 to 999, and 0 is padding."""
    line = known.inference()
    line["result"]["points"][0]["s"] = 692
    line["result"]["points"][1] |= {"b": 1, "s": 693}
    assert ["--padded" in case for case in flags_of(tmp_path, line)] == [False, True]


def test_every_file_counts_and_cases_that_did_not_complete_do_not(tmp_path):
    folder = folder_of(tmp_path, known.training())
    failed = {"case": known.training()["case"], "result": {"oom": "CUDA out of memory"}}
    known.write(folder, "pytorch_more", [known.inference(), failed])
    known.write(folder, "other_programs", [{"what": "speed"}, {"case": [1, "ddp"], "result": {}}])
    found = load_cases(folder / "reference")
    assert [case.source for case in found.askable] == ["pytorch_here", *["pytorch_more"] * 2]
    assert found.environment == (
        "PyTorch 2.11 and transformers 5.17 on an NVIDIA H200 (9 MiB, driver 580)"
    )


def test_adapters_are_no_parameters_of_the_model(tmp_path):
    line = known.training(lora={"r": 16, "targets": ["q_proj"]})
    line["result"] |= {"params": known.PARAMETERS + 5, "trainable": 5}
    cases = load_cases(folder_of(tmp_path, line) / "reference").askable
    assert cases[0].parameters == known.PARAMETERS


def test_a_title_says_what_was_run(tmp_path):
    lines = (
        known.training(ckpt=True, attn="eager"),
        known.inference(new_tokens=4),
        known.largest(3),
    )
    cases = load_cases(folder_of(tmp_path, *lines) / "reference").askable
    assert [case.title for case in cases] == [
        "tiny bf16 adamw 2 \N{MULTIPLICATION SIGN} 128, eager, checkpointing",
        "tiny fp16 1 \N{MULTIPLICATION SIGN} 64, 4 new",
        "tiny fp16 8 \N{MULTIPLICATION SIGN} 64, 4 new",
        "tiny bf16 sgd s 128, within 24564 MiB",
    ]


def test_what_is_right_has_no_error(tmp_path):
    comparison = compared(tmp_path, known.training(), known.inference(), known.largest(3))
    assert (comparison.figures["error"] == 0).all()
    assert all(bound.kept(comparison.errors(bound.figure)) for bound in BOUNDS)
    assert comparison.errors(LARGEST).tolist() == [0], "asked within the allocator's cap"


def test_errors_are_of_the_measured(tmp_path):
    comparison = compared(tmp_path, known.training(), off=0.985)
    assert comparison.errors("peak allocated").tolist() == pytest.approx([-0.015])
    assert comparison.errors(BY_STAGE).tolist() == pytest.approx([-0.015] * 5)
    broken = {
        (bound.figure, bound.words)
        for bound in BOUNDS[:-1]
        if not bound.kept(comparison.errors(bound.figure))
    }
    assert broken == {
        ("peak allocated", "median"),
        ("peak allocated", "lowest"),
        (BY_STAGE, "worst"),
    }


def test_verdicts_are_judged_by_what_the_card_lost(tmp_path):
    comparison = compared(tmp_path, known.training())
    case, cards = comparison.cases[0], comparison.cards
    h200 = comparison.measured_on(case)
    assert case.peak["device_used"] + cards["h200"].driver_reserved == pytest.approx(12.2e9, 0.01)
    assert wrong(case, 20e9, h200, cards) == []
    assert wrong(case, 30e9, h200, cards) == ["rtx4090"], "25.8 GB, 12.2 taken"
    assert wrong(case, 60e9, h200, cards) == ["rtx4090", "a100-40gb", "rtx6000-ada"]


def test_formulas_are_asked_what_they_speak_of(tmp_path):
    lora = {"r": 16, "targets": ["q_proj"]}
    lines = (known.training(), known.training(opt="sgd"), known.training(ckpt=True))
    lines += (known.training(lora=lora), known.inference())
    comparison = compared(tmp_path, *lines)
    spoken_of = {rival.formula.key: list(rival.said.index) for rival in rivals(comparison)}
    assert spoken_of == {
        "article": [0, 1, 4, 5],
        "deepspeed": [0, 2],
        "accelerate": [0, 2, 4, 5],
        "korthikanti": [0],
    }
    said = {rival.formula.key: rival.said[0] for rival in rivals(comparison)}
    per_token = 2 * 64 * (34 + 5 * 4 * 128 / 64)
    assert said["deepspeed"] == 18e9
    assert said["accelerate"] == 8e9
    assert said["korthikanti"] == 18e9 + 256 * per_token
    assert said["article"] == known.ARTICLE
    assert {formula.key for formula in FORMULAS} == set(said)


def test_tables_hold_every_case_and_stage(tmp_path):
    comparison = compared(tmp_path, known.training(), known.inference(), known.largest(2))
    built = {table.key: table for table in topic.tables(comparison)}
    assert len(built["accuracy_cases"].rows) == 3
    assert len(built["accuracy_stages"].rows) == 3 + 2 * 2
    assert built["accuracy_max_batch"].rows[0][1:] == ["3", "2"]
    met = {row[0].split("\n")[0]: row[-1] for row in built["accuracy"].rows}
    assert met.pop("largest batch") == "not the worst"
    assert set(met.values()) == {"yes"}
    for table in built.values():
        assert table.title in text_table(table)
    assert len(built["accuracy_formulas"].rows) == 1 + 2 * len(FORMULAS)


def test_the_picture_shows_every_formula(tmp_path):
    picture = topic.picture(compared(tmp_path, known.training(), known.inference()))
    (axes,) = picture.figure.axes
    names = {text.get_text() for text in axes.get_legend().get_texts()}
    assert len(names) == 1 + len(FORMULAS)


def test_a_formula_more_is_drawn_too(tmp_path, monkeypatch):
    more = (*FORMULAS, replace(FORMULAS[0], key="more", name="one more"))
    monkeypatch.setattr("vramfit_plots.accuracy.rivals.FORMULAS", more)
    assert "one more" in topic.picture(compared(tmp_path, known.training())).alt


def test_the_report_has_a_chapter_on_it(tmp_path, inputs, full):
    with pytest.raises(AbsentError, match="--fit"):
        topic.build(inputs)
    own = replace(inputs, accuracy=compared(tmp_path, known.training(), known.inference()))
    assert any(f"--fit {tmp_path / 'fit'}" in line for line in commands(own, tmp_path))
    assert (
        "What PyTorch takes: how near the predictions come" in (full / "accuracy.html").read_text()
    )
    assert (full / "figures" / "accuracy.svg").exists()


def test_the_command_writes_and_prints(tmp_path, capsys):
    folder = folder_of(tmp_path, known.training(), known.inference())
    arguments = ["--fit", str(known.program(tmp_path)), "--data", str(folder)]
    assert command.main([*arguments, "--out", str(tmp_path / "out")]) == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"accuracy.png", "accuracy.svg", "accuracy.md", "accuracy_stages.html"} <= written
    assert "how near the predictions come" in capsys.readouterr().out


def test_what_fit_refuses_is_said_with_the_case(tmp_path, capsys):
    with pytest.raises(BadInputError, match=r"tiny fp32 adamw.*precision: no such thing"):
        compared(tmp_path, known.training(dtype="fp32"))
    arguments = ["--fit", "nowhere/fit", "--data", str(folder_of(tmp_path, known.training()))]
    assert command.main(arguments) == 2
    assert "nowhere/fit" in capsys.readouterr().err
