"""Whatever is wrong with what they are given, the programs say so in a line and exit with 2."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from vramfit_plots.__main__ import main as report
from vramfit_plots.accuracy_report import main as accuracy
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import data_dir
from vramfit_plots.run import newest_run

LINE = 200
DEEP = "[" * 100_000 + "]" * 100_000


OF_THE_REPORT = (
    "gpus.json",
    "models/parameters.json",
    "article/claims.json",
    "article/table1_inference.json",
    "article/table2_training_waterfall.json",
    "article/table3_oom_cliff.json",
    "article/table4_multi_gpu.json",
    "reference/pytorch_single_gpu.jsonl",
    "reference/pytorch_max_batch.jsonl",
    "reference/llamacpp_speed.jsonl",
)


@pytest.fixture
def data(tmp_path) -> Path:
    """Of the project's data folder what the report cannot do without, to be damaged."""
    folder = tmp_path / "data"
    for file in OF_THE_REPORT:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data_dir() / file, folder / file)
    return folder


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    content = synthetic.document()
    content["benchmarks"] = content["benchmarks"][:3] + synthetic.article()
    return synthetic.write(tmp_path_factory.mktemp("good") / "bench.json", content)


@pytest.fixture
def arguments(tmp_path, data, good) -> list[str]:
    """With which the report is written."""
    return ["--run", str(good), "--data", str(data), "--out", str(tmp_path / "report")]


def write(text: str | bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    return damage


def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return damage


ANYWHERE = {
    "missing": lambda path: path.unlink(missing_ok=True),
    "a folder": instead(Path.mkdir),
    "a FIFO": instead(os.mkfifo),
    # Reads as no file does, whoever asks: /proc/self/mem has nothing at 0.
    "unreadable": instead(lambda path: path.symlink_to("/proc/self/mem")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "broken UTF-8": write(b'{"schema": "\xff\xfe"}'),
    "binary": write(bytes(range(256))),
    "an object": write("{}"),
    "a list": write("[]"),
    "a list of nothing": write("[null]"),
    "a number": write("5"),
    "cut": write('{"context": {"date": "2026'),
    "deep": write(DEEP),
    "deep, but it can be parsed": write("[" * 90 + "]" * 90),
    "a long number": write('{"schema": ' + "9" * 5000 + "}"),
    "half a character": write('{"schema": 1, "context": {"date": "\\ud800"}}'),
    "another version": write('{"schema": 99, "context": {"date": "x"}, "schema_version": "99"}'),
}
# Of those, what differs from file to file.
DAMAGES = ("missing", "a folder", "cut", "a list of nothing", "an object", "another version")


def refused(main: Callable[[list[str]], int], arguments: list[str], capsys) -> str:
    """What it says, which is one line and says where it comes from."""
    capsys.readouterr()
    assert main(arguments) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert len(line) <= LINE
    assert line.isprintable()
    assert ": error: " in line
    assert captured.out == ""
    return line


@pytest.mark.parametrize("damage", ANYWHERE)
def test_a_run(tmp_path, arguments, capsys, damage):
    path = tmp_path / "run.json"
    ANYWHERE[damage](path)
    assert str(path) in refused(report, [*arguments, "--run", str(path)], capsys)
    assert str(path) in refused(report, [*arguments, "--measured", str(path)], capsys)
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("kind", ["", "-compare"], ids=["run", "comparison"])
@pytest.mark.parametrize("damage", [*DAMAGES[2:], "deep", "unreadable"])
def test_a_kept_measurement(data, arguments, capsys, kind, damage):
    path = data / "runs" / "gpu" / "driver" / f"2026-11-21-abc1234{kind}.json"
    path.parent.mkdir(parents=True)
    ANYWHERE[damage](path)
    assert path.name in refused(report, arguments, capsys)


# A line that speaks of no case is passed over.
HARMLESS = {
    ("reference/pytorch_max_batch.jsonl", "an object"),
    ("reference/pytorch_max_batch.jsonl", "another version"),
}
# Largest batches are extra: a folder without them has none.
NOT_NEEDED = {("reference/pytorch_max_batch.jsonl", "missing")}


@pytest.mark.parametrize(
    ("file", "damage"), sorted(set(itertools.product(OF_THE_REPORT, DAMAGES)) - NOT_NEEDED)
)
def test_data_of_the_report(data, arguments, capsys, file, damage):
    ANYWHERE[damage](data / file)
    if (file, damage) in HARMLESS:
        assert report(arguments) == 0
        return
    assert Path(file).name in refused(report, arguments, capsys)


@pytest.mark.parametrize("file", ["gpus.json", "reference/pytorch_shapes.jsonl"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_data_of_the_accuracy(tmp_path, data, capsys, file, damage):
    for path in (data / "reference").glob("*.jsonl"):
        path.unlink()
    (data / file).write_text("")
    ANYWHERE[damage](data / file)
    arguments = ["--fit", "/bin/false", "--data", str(data), "--out", str(tmp_path / "out")]
    refused(accuracy, arguments, capsys)


@pytest.mark.parametrize("answer", ["{}", "[]", "", "null", DEEP[:3000], '{"schema": 1}', "\\377"])
def test_an_answer_that_is_none_of_fits(tmp_path, data, capsys, answer):
    fit = tmp_path / "fit"
    fit.write_text(f"#!/bin/sh\nprintf '{answer}'\n")
    fit.chmod(0o755)
    out = ["--data", str(data), "--out", str(tmp_path / "out")]
    assert str(fit) in refused(accuracy, ["--fit", str(fit), *out], capsys)


@pytest.mark.parametrize("program", ["/nowhere/fit", "/etc/passwd", "/tmp", ""])
def test_a_fit_that_cannot_be_run(arguments, capsys, program):
    refused(report, [*arguments, "--fit", program], capsys)
    refused(accuracy, [*arguments[2:], "--fit", program], capsys)


@pytest.mark.parametrize(
    "arguments",
    [["--rum", "x"], ["--run"], ["x"], ["--out", ""], ["--out", "a\nb"], ["--data", "\udcff"]],
)
@pytest.mark.parametrize("main", [report, accuracy])
def test_a_command_line(capsys, main, arguments):
    refused(main, arguments, capsys)


@pytest.mark.parametrize("out", ["/proc/report", "/dev/null", "/dev/null/report", "/" + 300 * "x"])
def test_a_folder_that_cannot_be_written(arguments, capsys, out):
    assert out[:20] in refused(report, [*arguments, "--out", out], capsys)


def test_an_output_that_is_full(arguments):
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "vramfit_plots", *arguments],
            cwd=data_dir().parent / "plots",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 2
    assert run.stderr == "vramfit_plots: error: standard output: No space left on device\n"


def estimates(document: dict[str, Any]) -> None:
    one = dict(document["benchmarks"][0])
    document["benchmarks"] = [{**one, "name": f"Estimate/{i}", "label": "x"} for i in range(3)]


def on_the_cpu(document: dict[str, Any]) -> None:
    document["context"] |= {"device": "cpu", "evidence": "measured"}
    for row in document["benchmarks"]:
        row |= {"mem_allocated": row.get("pred_allocated", 0), "mem_reserved": 0, "oom": 0}


def ops_alone(document: dict[str, Any]) -> None:
    document["benchmarks"] = synthetic.ops("Ops/m/fp16/adamw/batch:1/seq:1")


def one_row(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["benchmarks"] = [{**document["benchmarks"][0], **changes}]

    return change


def context(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["context"].update(changes)


# A run on a GPU, whose columns a run without lacks.
MEASURED = ["--measured", str(newest_run(data_dir() / "runs"))]
STRANGE = {
    "estimates alone": estimates,
    "measured on the CPU": on_the_cpu,
    "ops alone": ops_alone,
    "an op's name without its axes": one_row(
        **synthetic.ops("Ops/m/batch:1")[-1], mem_device_used=5, mem_allocated=0
    ),
    "a batch that is no number": one_row(
        name="Training/llama2-7b/fp16/adamw/batch:\u00b2/seq:512", pred_device_used=5
    ),
    "a batch beyond all numbers": one_row(
        name=f"Training/llama2-7b/fp16/adamw/batch:{'9' * 400}/seq:512", pred_device_used=5
    ),
    "a $ in a name": one_row(name="Training/$\\frac$/fp16/adamw/batch:1/seq:512"),
    "a name that the font lacks": one_row(
        name="Training/\u4e2d\U0001f600/fp16/adamw/batch:1/seq:512", mem_device_used=9
    ),
    "nothing allocated": one_row(mem_allocated=0, mem_reserved=0, mem_device_used=5),
    "no prediction": one_row(pred_allocated=0, pred_reserved=0, article_formula=1.0),
    "no axes": context(axes=""),
    "other optimizers": context(pytorch_optimizers="sgd, , x: : y"),
    "a device in many words": context(device="virtual:" + "x," * 3000),
    "a number as device": context(device=5),
    "a deep context": context(profile=json.loads("[" * 30 + "]" * 30)),
}


def reported_or_refused(arguments: list[str], capsys) -> None:
    status = report(arguments)
    said = capsys.readouterr().err.splitlines()
    assert (status, len(said)) in {(0, 0), (2, 1)}, said


def strange(folder: Path, kind: str) -> str:
    content = synthetic.document()
    content["benchmarks"] = content["benchmarks"][:2]
    STRANGE[kind](content)
    return str(synthetic.write(folder / "run.json", content))


@pytest.mark.parametrize("kind", STRANGE)
def test_a_strange_run_is_reported_or_refused(tmp_path, arguments, capsys, kind):
    reported_or_refused([*arguments, "--run", strange(tmp_path, kind)], capsys)


BESIDE_ANOTHER = ["estimates alone", "measured on the CPU", "ops alone"]


@pytest.mark.parametrize("kind", BESIDE_ANOTHER)
def test_a_strange_run_as_the_measured_one(tmp_path, arguments, capsys, kind):
    reported_or_refused([*arguments, "--measured", strange(tmp_path, kind)], capsys)


@pytest.mark.parametrize("kind", BESIDE_ANOTHER)
def test_a_strange_run_beside_a_measured_one(tmp_path, arguments, capsys, monkeypatch, kind):
    """Every picture is made from what both hold; painting them all takes ten times as long."""
    monkeypatch.setattr(Picture, "svg", property(lambda picture: picture.title))
    monkeypatch.setattr(Picture, "write", lambda *_: None)
    reported_or_refused([*arguments, "--run", strange(tmp_path, kind), *MEASURED], capsys)
