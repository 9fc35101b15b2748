"""The comparison with PyTorch, with stand-ins for both programs."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import compare_pytorch
import pytest
import runs
from compare import sides
from compare.cases import OPTIMIZERS, BadInputError, case_of, read_cases
from compare.table import ratio, table_text

LLAMA = "Training/llama2-7b/bf16/adamw-same/batch:4/seq:2048"
GPT2 = "Training/gpt2-124m/bf16/adamw-master/batch:64/seq:1024"
LLAMA_CASE = {
    "model": "llama2-7b",
    "precision": "bf16",
    "optimizer": "adamw-same",
    "batch": 4,
    "seq": 2048,
    "modes": ["eager", "compile"],
}
GPT2_CASE = {
    "model": "gpt2-124m",
    "precision": "bf16",
    "optimizer": "adamw-master",
    "batch": 64,
    "seq": 1024,
    "modes": ["eager"],
}
CASES = {"schema": 2, "cases": [LLAMA_CASE, GPT2_CASE]}
CONTEXT = {"commit": "abc1234", "gpu": "NVIDIA H200", "driver": "580.1", "cuda": "13.0"}
OURS = {
    "tokens_per_second": 12_000.0,
    "mem_allocated": 66e9,
    "mem_reserved": 67e9,
    "mem_device_used": 68e9,
}
THEIRS = {
    "tokens_per_second": 10_000.0,
    "allocated": 88e9,
    "reserved": 100e9,
    "device_used": 136e9,
}
VERSIONS = {"gpu": "NVIDIA H200", "torch": "2.11.0", "transformers": "5.17.0"}

BENCH = """
import json, pathlib, sys
flags = dict(a.removeprefix("--").split("=", 1) for a in sys.argv[1:])
name = flags["benchmark_filter"][1:-1]
row = {ROWS}.get(name, {OURS})
if isinstance(row, str):
    sys.exit(row)
report = {{"context": {CONTEXT}, "benchmarks": [{{"name": name, **row}}]}}
pathlib.Path(flags["benchmark_out"]).write_text(json.dumps(report))
"""
PYTHON = """
import json, os, pathlib, sys, time
if "--versions" in sys.argv:
    print(json.dumps({VERSIONS}))
    sys.exit()
flags = dict(a.removeprefix("--").split("=", 1) for a in sys.argv[2:])
result = {RESULTS}.get(flags["mode"], {THEIRS})
if result == "killed":
    os.kill(os.getpid(), 9)
if result == "hangs":
    time.sleep(60)
if isinstance(result, str):
    sys.exit(result)
pathlib.Path(flags["out"]).write_text(json.dumps(result))
"""


class Machine:
    """A machine on which both stand-ins answer as told."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.cases = folder / "compare.json"
        self.cases.write_text(json.dumps(CASES))
        self.bench_says()
        self.pytorch_says()

    def _program(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
        return path

    def bench_says(self, **rows) -> None:
        rows = {{"llama": LLAMA, "gpt2": GPT2}[key]: row for key, row in rows.items()}
        text = BENCH.format(ROWS=rows, OURS=OURS, CONTEXT=CONTEXT)
        self.bench = self._program("bench", text)

    def pytorch_says(self, versions=VERSIONS, **results) -> None:
        text = PYTHON.format(VERSIONS=versions, RESULTS=results, THEIRS=THEIRS)
        self.python = self._program("python", text)

    def run(self, *more: str) -> int:
        return compare_pytorch.main(
            [
                f"--python={self.python}",
                f"--bench={self.bench}",
                f"--cases={self.cases}",
                f"--runs={self.folder / 'runs'}",
                f"--work={self.folder / 'work'}",
                *more,
            ]
        )

    def files(self) -> list[Path]:
        return sorted((self.folder / "runs").glob("*/*/*"))

    def document(self) -> dict:
        return json.loads(self.files()[-1].read_text())


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def line_of(text: str, start: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(start))


def test_both_sides_are_printed_and_kept(machine, capsys):
    assert machine.run() == 0
    out = capsys.readouterr().out
    assert "NVIDIA H200, driver 580.1, CUDA 13.0: vramfit abc1234 beside PyTorch 2.11.0" in out
    assert line_of(out, "vramfit  ").split()[1:] == ["12,000", "66.0", "67.0", "68.0"]
    expected = "10,000 (1.20) 88.0 (0.75) 100.0 (0.67) 136.0 (0.50)"
    assert " ".join(line_of(out, "PyTorch eager").split()[2:]) == expected
    assert " ".join(line_of(out, "torch.compile").split()[1:]) == expected

    (file,) = machine.files()
    assert file.parent == machine.folder / "runs/nvidia-h200/580.1-13.0"
    assert file.name.endswith("-abc1234-compare.json")
    assert str(file) in out
    document = machine.document()
    assert document["context"]["torch"] == "2.11.0"
    assert document["context"]["command"] == "make compare-pytorch"
    llama, gpt2 = document["cases"]
    assert llama["row"] == LLAMA
    assert llama["vramfit"]["device_used"] == OURS["mem_device_used"]
    assert llama["compile"]["reserved"] == THEIRS["reserved"]
    assert "compile" not in gpt2
    assert gpt2["vramfit"]["command"] == (
        f"build/bench --device=cuda '--benchmark_filter=^{GPT2}$' --model=gpt2-124m "
        "--precision=bf16 --optimizer=adamw-master --batch=64 --seq=1024 --speed-seconds=5"
    )
    assert gpt2["eager"]["command"] == (
        "python3 scripts/compare/pytorch_side.py --config=data/models/gpt2-124m/config.json "
        "--precision=bf16 --optimizer=adamw-master --batch=64 --seq=1024 --mode=eager"
    )


def test_cases_are_chosen_by_a_part_of_the_name(machine, capsys):
    assert machine.run("--only=gpt2") == 0
    document = machine.document()
    assert [entry["row"] for entry in document["cases"]] == [GPT2]
    assert document["context"]["command"] == "make compare-pytorch ONLY=gpt2"
    assert machine.run("--only=gpt9") == 2
    assert f"no case has 'gpt9' in its name; there are {LLAMA}, {GPT2}" in capsys.readouterr().err


def test_out_of_memory_is_a_row_and_no_failure(machine, capsys):
    label = "measured, cuda:0 NVIDIA H200; out of memory in forward of step 2; peak in loaded"
    machine.bench_says(gpt2={"oom": 1.0, "label": label})
    machine.pytorch_says(compile={"oom": "Tried to allocate 2.00 GiB"})
    assert machine.run() == 0
    out = capsys.readouterr().out
    assert "out of memory: in forward of step 2" in out
    assert line_of(out, "torch.compile").endswith("out of memory: Tried to allocate 2.00 GiB")
    gpt2 = out[out.index("gpt2-124m bf16") :]
    assert "(" not in line_of(gpt2, "PyTorch eager"), "no ratio to what there is not"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Traceback\nValueError: of that", "failed: ValueError: of that"),
        ("killed", "failed: died of signal 9 (Killed)"),
        ({"error": "InductorError: of this"}, "failed: InductorError: of this"),
        ("hangs", "failed: not done after 1 s"),
    ],
)
def test_a_side_that_fails_is_a_row_that_says_so(machine, capsys, monkeypatch, said, reason):
    real = sides.Sides
    monkeypatch.setattr(compare_pytorch, "Sides", lambda *given: real(*given, seconds=1))
    machine.pytorch_says(compile=said)
    assert machine.run() == 1
    captured = capsys.readouterr()
    assert line_of(captured.out, "torch.compile").endswith(reason)
    assert line_of(captured.out, "PyTorch eager").count("(") == 4
    assert captured.err.splitlines()[-1].startswith("compare-pytorch: error: 1 failed")
    assert "tokens_per_second" in machine.document()["cases"][0]["eager"]


def test_a_row_that_bench_fails_is_one(machine, capsys):
    machine.bench_says(gpt2={"error_occurred": True, "error_message": "died of signal 11"})
    assert machine.run() == 1
    assert "failed: died of signal 11" in capsys.readouterr().out
    machine.bench_says(gpt2="bench: error: device: others have memory of the GPU")
    assert machine.run() == 1
    assert "failed: bench: error: device: others have" in capsys.readouterr().out


def test_a_row_without_a_speed_has_its_memory(machine, capsys):
    ours = {key: value for key, value in OURS.items() if key != "tokens_per_second"}
    machine.bench_says(llama=ours)
    assert machine.run("--only=llama") == 0
    out = capsys.readouterr().out
    assert line_of(out, "vramfit  ").split()[1:] == ["-", "66.0", "67.0", "68.0"]
    assert line_of(out, "PyTorch eager").count("(") == 3


def test_what_is_measured_is_kept_as_it_comes(machine, monkeypatch):
    real = sides.Sides.pytorch

    def interrupted(self, case, mode):
        if mode == "compile":
            raise KeyboardInterrupt
        return real(self, case, mode)

    monkeypatch.setattr(sides.Sides, "pytorch", interrupted)
    assert machine.run() == 130
    (entry,) = machine.document()["cases"]
    assert entry["eager"]["tokens_per_second"] == THEIRS["tokens_per_second"]
    assert len(machine.files()) == 1


def test_no_pytorch_no_gpu_and_no_bench_are_a_line_each(machine, capsys):
    def complaint():
        assert machine.run() == 2
        error = capsys.readouterr().err
        return [line for line in error.splitlines() if not line.startswith("[")]

    machine.pytorch_says(versions={**VERSIONS, "gpu": None})
    assert "no GPU that PyTorch can use" in complaint()[0]

    machine.python = Path(sys.executable)  # the pinned tools, among which there is no PyTorch
    if importlib.util.find_spec("torch") is None:
        (line,) = complaint()
        assert "has no torch" in line
        assert "-m pip install torch transformers" in line
    machine.python = machine.folder / "none"
    (line,) = complaint()
    assert "none: No such file or directory; TORCH_PYTHON=" in line

    machine.pytorch_says()
    machine.bench_says(llama="bench: error: device: cuda finds no GPU")
    (line,) = complaint()
    assert line == "compare-pytorch: error: bench: error: device: cuda finds no GPU"
    machine.bench.unlink()
    (line,) = complaint()
    assert "bench: is not built; make build" in line
    assert machine.files() == []


def test_check_runs_neither(machine, capsys):
    machine.bench.unlink()
    assert machine.run("--check") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"precision": "fp64"}, "precision: is fp64"),
        ({"optimizer": "adamw"}, "keeps what adamw keeps"),
        ({"modes": ["Eager"]}, "modes: is"),
        ({"modes": []}, "modes: is"),
    ],
)
def test_a_case_that_cannot_be_compared_is_refused(changed, complaint):
    with pytest.raises(BadInputError, match=complaint):
        case_of({**LLAMA_CASE, **changed})


def test_the_projects_cases_have_their_models():
    for case in read_cases(runs.ROOT / "data/compare.json"):
        assert (runs.ROOT / "data/models" / case.model / "config.json").exists()


def test_a_file_of_another_shape_is_named(tmp_path):
    path = tmp_path / "compare.json"
    for text in ("{", "{}", '{"schema": 1, "cases": []}', '{"schema": 2, "cases": [1]}'):
        path.write_text(text)
        with pytest.raises(BadInputError, match=r"compare\.json: "):
            read_cases(path)


def test_ratios_are_ours_over_theirs():
    assert ratio({"allocated": 1}, {"allocated": 2}, "allocated") == 0.5
    assert ratio({"allocated": 1}, {}, "allocated") is None
    assert ratio({"oom": ""}, {"allocated": 2}, "allocated") is None


def test_a_comparison_cut_short_still_prints():
    context = {**CONTEXT, "torch": "2.11.0", "transformers": "5.17.0"}
    entry = {"row": LLAMA, "title": "llama2-7b", "vramfit": {"error": "no " * 99}}
    text = table_text({"context": context, "cases": [entry]})
    assert line_of(text, "vramfit  ").endswith("…")
    assert max(map(len, text.splitlines())) <= 110


def test_no_file_is_written_over(tmp_path):
    first = runs.new_file(CONTEXT, "-compare", tmp_path)
    first.write_text("")
    second = runs.new_file(CONTEXT, "-compare", tmp_path)
    assert second.name == first.name.replace("-compare", "-2-compare")
    own = runs.new_file(CONTEXT, runs=tmp_path)
    assert own.name == first.name.replace("-compare", ""), "a comparison is no run"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch")
def test_pytorchs_side_trains():
    for optimizer in OPTIMIZERS:
        command = [
            sys.executable,
            str(sides.PYTORCH_SIDE),
            f"--config={runs.ROOT / 'tests/fixtures/tiny-gpt2/config.json'}",
            f"--optimizer={optimizer}",
            *("--precision=bf16", "--batch=2", "--seq=8", "--device=cpu", "--steps=3"),
        ]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        result = json.loads(answer.splitlines()[-1])
        assert result["tokens_per_second"] > 0
        assert len(result["step_seconds"]) == 3
