"""Recording PyTorch's cases, with a stand-in for the Python that has it."""

import fcntl
import json
import sys
from pathlib import Path

import measure_pytorch
import pytest
from programs import ROOT, BadInputError
from pytorch.cases import read_cases
from pytorch.overhead import overhead, smallest_two
from pytorch.recording import Recording
from vramfit_plots.accuracy.cases import load_cases

MIB = 2**20
GB = 10**9
FACTS = {
    "gpu": "NVIDIA H100 80GB HBM3",
    "driver": "590.1",
    "held_mib": 0,
    "memory": 85 * GB,
    "torch": "2.12.0+cu131",
    "transformers": "5.20.0",
    "cuda": "13.1",
    "cudnn": "92000",
    "packages": {"peft": "0.21.0"},
}
ARCH = {"model_type": "llama", "hidden_size": 64}

# It is asked for facts, or to measure: then each case gets the result that it is told.
PYTHON = """
import json, os, pathlib, sys
program, *rest = sys.argv[1:]
if program.endswith("facts.py"):
    facts = {FACTS!r}
    sys.exit(facts if isinstance(facts, str) else print(json.dumps(facts)))
def reading(allocated, beyond):
    return {{"alloc": allocated, "peak": allocated, "reserved": allocated,
             "peak_reserved": allocated, "device_used": allocated + beyond}}
def measured(case):
    first = 68 if case.get("attn") == "eager" else 76
    beyond = [600, 600 + first, 600 + first + 64 + (0 if case.get("attn") == "eager" else 8)]
    context, forward, backward = (reading(2**30, n * 2**20) for n in beyond)
    result = {{"params": 5, "trainable": 0, "seconds": 2.0, "context": context, "load": context}}
    if case["mode"] == "infer":
        return {{**result, "points": [{{"b": b, "s": s, **forward}} for b, s in case["points"]]}}
    return {{**result, "stages": {{"step1.forward": forward, "step1.backward": backward}}}}
cases, out, seconds = rest
def write(line):
    with open(out, "a") as file:
        file.write(json.dumps(line) + "\\n")
smi = "NVIDIA H100 80GB HBM3, 590.1, 81559 MiB"
write({{"env": {{"torch": "2.12.0+cu131", "transformers": "5.20.0", "cuda": "13.1", "smi": smi}}}})
for number, case in enumerate(json.loads(pathlib.Path(cases).read_text())):
    if number == {DIES_AT}:
        with open(out, "a") as file:
            file.write('{{"case": {{"mod')
        sys.exit("Bus error")
    write({{"case": case, "result": {RESULTS}.get(case["model"]) or measured(case)}})
"""


def setting(model: str, **more) -> dict:
    case = {"model": model, "arch": ARCH, "mode": "train", "dtype": "bf16", "opt": "sgd"}
    return {**case, "b": 2, "s": 128, **more}


def recorded(case: dict, gigabytes: float) -> dict:
    """A line of data/reference of a case that took that much of its card."""
    used = int(gigabytes * GB)
    load = {"alloc": used, "peak": used, "reserved": used, "device_used": used + 600 * MIB}
    return {"case": case, "result": {"params": 5, "load": load, "stages": {"step1.forward": load}}}


EAGER = setting("tiny", attn="eager")
FUSED = setting("tiny")
INFER = {key: value for key, value in setting("talker").items() if key not in ("b", "s", "opt")}
INFER |= {"mode": "infer", "points": [[1, 64], [8, 64]]}
CASES = [
    recorded(setting("big"), 20),
    recorded(setting("too-big"), 90),
    recorded(EAGER, 1),
    recorded(FUSED, 1),
    recorded(setting("small", lora={"r": 16, "targets": ["q_proj"]}), 2),
    recorded(INFER, 3),
]
MORE = [recorded(setting("packed", quant="nf4"), 2)]


class Machine:
    def __init__(self, folder: Path):
        self.folder = folder
        self.cases = folder / "cases"
        self.cases.mkdir()
        for name, lines in (("pytorch_here", CASES), ("pytorch_more", MORE)):
            text = "".join(json.dumps(line) + "\n" for line in [{"env": {}}, *lines])
            (self.cases / f"{name}.jsonl").write_text(text)
        self.pytorch()

    def pytorch(self, facts=FACTS, dies_at: int = -1, **results) -> None:
        self.python = self.folder / "python"
        text = PYTHON.format(FACTS=facts, DIES_AT=dies_at, RESULTS=results)
        self.python.write_text(f"#!{sys.executable}\n{text}")
        self.python.chmod(0o755)

    def run(self, *more: str) -> int:
        folders = [f"--out={self.folder / 'out'}", f"--work={self.folder / 'work'}"]
        given = [f"--python={self.python}", f"--cases={self.cases}", *folders]
        return measure_pytorch.main([*given, *more])

    def files(self) -> list[Path]:
        return sorted((self.folder / "out").rglob("*"))

    def lines(self) -> list[dict]:
        file = next(path for path in reversed(self.files()) if path.is_file())
        return [json.loads(line) for line in file.read_text().splitlines()]

    def models(self) -> list[str]:
        return [line["case"]["model"] for line in self.lines() if "case" in line]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_cases_are_measured_and_kept_with_what_they_were_measured_with(machine, capsys):
    assert machine.run() == 0
    (file,) = (path for path in machine.files() if path.is_file())
    assert file.parent == machine.folder / "out/nvidia-h100-80gb-hbm3/2.12.0-cu131"
    env, *lines = machine.lines()
    assert env["env"]["cudnn"] == "92000"
    assert env["env"]["peft"] == "0.21.0"
    assert env["env"]["smi"].startswith("NVIDIA H100 80GB HBM3, 590.1")
    assert machine.models() == ["tiny", "tiny", "big", "small", "talker"]
    assert sum("env" in line for line in lines) == 0, "of one environment"
    said = capsys.readouterr()
    name = "PyTorch/train/too-big/bf16/sgd/batch:2/seq:128"
    assert f"left out: {name}: took 90.6 GB, and this card has 85.0" in said.err
    assert "needs accelerate, bitsandbytes" in said.err
    assert "[3/5] PyTorch/train/big/bf16/sgd/batch:2/seq:128: measured (2 s)" in said.err
    assert f"5 cases are in {file}" in said.out
    assert list((machine.folder / "work").iterdir()) == []


def test_the_file_is_one_of_reference(machine):
    assert machine.run() == 0
    file = next(path for path in machine.files() if path.is_file())
    found = load_cases(file.parent)
    assert [case.model for case in found.cases] == [
        "tiny",
        "tiny",
        "big",
        "small",
        "talker",
        "talker",
    ]
    assert "PyTorch 2.12.0+cu131" in found.environment


def test_the_cards_share_is_read_off_two_steps(machine, capsys):
    assert machine.run("--only=big/") == 0
    assert machine.models() == ["tiny", "tiny", "big"], "the two are always there"
    share = machine.lines()[-1]["overhead"]
    assert {part: found["bytes"] / MIB for part, found in share.items()} == {
        "context": 600,
        "cublas": 68,
        "cublas_backward": 64,
        "attention": 8,
        "attention_backward": 8,
    }
    assert "NVIDIA H100 80GB HBM3, driver 590.1, PyTorch 2.12.0+cu131" in share["cublas"]["source"]
    assert '"attention_backward"' in capsys.readouterr().out


def test_the_committed_cases_give_the_committed_share():
    cards = json.loads((ROOT / "data/gpus.json").read_text())["cards"]
    rows = next(card["overhead"]["runtimes"] for card in cards if card["name"] == "h200")
    kept = next(row["parts"] for row in rows if row["runtime"] == "pytorch")
    two = smallest_two(read_cases(ROOT / "data/reference"))
    settings = [case.setting for case in two]
    texts = (path.read_text() for path in sorted((ROOT / "data/reference").glob("pytorch*.jsonl")))
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    share = overhead([line for line in lines if line.get("case") in settings], FACTS)
    assert {part: found["bytes"] for part, found in share.items()} == {
        part: found["bytes"] for part, found in kept.items() if part in share
    }


def test_a_killed_recording_goes_on_where_it_was(machine, capsys):
    machine.pytorch(dies_at=2)
    assert machine.run() == 1
    said = capsys.readouterr().err
    assert "measure_pytorch.py: Bus error" in said
    assert "the same command goes on with it" in said
    assert machine.files() == []
    machine.pytorch()
    assert machine.run() == 0
    assert "2 of 5 cases are done" in capsys.readouterr().err
    assert machine.models() == ["tiny", "tiny", "big", "small", "talker"]


def test_what_one_program_measured_waits_for_the_other(machine, capsys):
    """Otherwise the same command would measure it once more."""
    facts = {**FACTS, "packages": {"peft": "1", "bitsandbytes": "2", "accelerate": "3"}}
    more = machine.cases / "pytorch_more.jsonl"
    lines = [recorded(setting("packed", quant=f"nf{i}"), 2) for i in range(8)]
    more.write_text("\n".join(map(json.dumps, lines)))
    machine.pytorch(facts, dies_at=5)  # the first program has five cases
    assert machine.run() == 1
    assert "measure_pytorch_more.py: Bus error" in capsys.readouterr().err
    assert machine.files() == []
    machine.pytorch(facts)
    assert machine.run() == 0
    said = capsys.readouterr().err
    assert "5 of 5 cases are done" in said
    assert "5 of 8 cases are done" in said


def test_another_release_does_not_go_on_with_it(machine, capsys):
    machine.pytorch(dies_at=2)
    machine.run()
    machine.pytorch({**FACTS, "torch": "2.13.0"})
    assert machine.run() == 2
    assert "was measured with torch 2.12.0+cu131, and this is 2.13.0" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["peft", "bitsandbytes", "accelerate"])
def test_another_package_does_not_go_on_with_it(machine, capsys, package):
    machine.pytorch(dies_at=2)
    machine.run()
    machine.pytorch({**FACTS, "packages": {**FACTS["packages"], package: "9.9"}})
    assert machine.run() == 2
    assert f"was measured with {package} " in capsys.readouterr().err


def test_another_commit_does_not_go_on_with_it(machine, capsys, monkeypatch):
    machine.pytorch(dies_at=2)
    machine.run()
    monkeypatch.setattr(measure_pytorch, "commit", lambda: "abc1234")
    assert machine.run() == 2
    assert "and this is abc1234" in capsys.readouterr().err


def test_recordings_are_kept_together_or_not_at_all(machine, capsys, monkeypatch):
    packages = {"peft": "1", "bitsandbytes": "2", "accelerate": "3"}
    machine.pytorch({**FACTS, "packages": packages})
    keep = Recording.keep

    def full(recording, file, more=()):
        if recording.more:
            raise OSError(28, "No space left on device")
        keep(recording, file, more)

    monkeypatch.setattr(Recording, "keep", full)
    assert machine.run() != 0
    assert [path for path in machine.files() if path.is_file()] == []
    monkeypatch.setattr(Recording, "keep", keep)
    capsys.readouterr()
    assert machine.run() == 0
    said = capsys.readouterr().err
    assert "5 of 5 cases are done" in said
    assert "1 of 1 cases are done" in said
    assert len([path for path in machine.files() if path.is_file()]) == 2
    assert list((machine.folder / "work").iterdir()) == []


def test_no_file_is_written_over(machine):
    assert machine.run("--only=big/") == 0
    first = [path for path in machine.files() if path.is_file()]
    before = first[0].read_text()
    assert machine.run("--only=small") == 0
    assert len([path for path in machine.files() if path.is_file()]) == 2
    assert first[0].read_text() == before


def test_memory_that_runs_out_is_a_result_and_a_failure_is_one_too(machine, capsys):
    machine.pytorch(big={"oom": "Tried to allocate 2.00 GiB"}, small={"error": "ValueError: x"})
    assert machine.run() == 1
    said = capsys.readouterr().err
    assert "big/bf16/sgd/batch:2/seq:128: out of memory" in said
    assert "failed: ValueError: x" in said
    assert said.splitlines()[-1] == "measure-pytorch: error: 1 failed; their lines say why"
    assert "small" in machine.models(), "what failed is kept"


def test_cases_of_the_other_program_have_a_file_of_their_own(machine):
    packages = {"peft": "1", "bitsandbytes": "2", "accelerate": "3"}
    machine.pytorch({**FACTS, "packages": packages})
    assert machine.run("--only=packed") == 0
    names = [path.name for path in machine.files() if path.is_file()]
    assert [name.endswith("-more.jsonl") for name in names] == [True, False]


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"gpu": None}, "no GPU that PyTorch can use"),
        ("has no transformers", "has no transformers; install what is missing"),
        ({**FACTS, "held_mib": 900}, "others hold 900 MiB of the GPU"),
        ([], "no Python that answers"),
    ],
)
def test_what_is_missing_is_a_line(machine, capsys, facts, complaint):
    machine.pytorch(facts)
    assert machine.run() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line
    assert len(line) <= 200
    assert machine.files() == []


def test_a_case_that_is_not_there_is_a_line(machine, capsys):
    assert machine.run("--only=gpt9") == 2
    assert "no case has 'gpt9' in its name; there are 7, such as" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"case": {"arch": {}}}', '{"case": {"arch": {}, "mode": "infer"}}', "[", "5"],
)
def test_cases_of_another_shape_are_a_line(machine, tmp_path, text):
    file = tmp_path / "cases.jsonl"
    file.write_text(text)
    with pytest.raises(BadInputError, match=r"cases\.jsonl"):
        read_cases(file)
    assert machine.run(f"--cases={file}") == 2


def test_two_do_not_write_one_recording(machine, capsys):
    work = machine.folder / "work"
    work.mkdir()
    with (work / "measure_pytorch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert machine.run() == 2
    assert "is being measured by another process" in capsys.readouterr().err


def test_a_damaged_recording_is_a_line(machine, capsys):
    work = machine.folder / "work"
    work.mkdir()
    (work / "measure_pytorch.jsonl").write_text('[5]\n{"case"')
    assert machine.run() == 2
    assert "is no recording; remove it" in capsys.readouterr().err


STAND_IN = ROOT / "tests/fixtures/torch_stand_in"


def test_the_programs_of_reference_measure_what_is_asked(machine, capsys, monkeypatch):
    """The programs themselves, with a torch that has no GPU to speak of."""
    smi = machine.folder / "nvidia-smi"
    smi.write_text(
        "#!/bin/sh\n"
        "case $1 in *name*) echo 'NVIDIA H100, 590.1, 81559 MiB';; *) echo GPU-a, 590.1, 1;; esac\n"
    )
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{machine.folder}:{Path('/usr/bin')}:{Path('/bin')}")
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    ends = ("dies", "oom", "fails")
    cases = [setting(end, arch={**ARCH, "ends": end}) for end in ends]
    lines = [recorded(case, 1) for case in [*cases, EAGER, FUSED, INFER]]
    (machine.cases / "pytorch_here.jsonl").write_text("\n".join(map(json.dumps, lines)))
    machine.python = Path(sys.executable)
    assert machine.run() == 1
    said = capsys.readouterr().err
    assert "dies/bf16/sgd/batch:2/seq:128: failed: died with status -11" in said
    assert "oom/bf16/sgd/batch:2/seq:128: out of memory" in said
    assert "failed: ValueError('no such layer')" in said
    assert said.splitlines()[-1] == "measure-pytorch: error: 2 failed; their lines say why"
    env = machine.lines()[0]["env"]
    assert env["smi"] == "NVIDIA H100, 590.1, 81559 MiB"
    assert (env["driver"], env["cudnn"], env["cuda"]) == ("590.1", "92000", "13.1")
    share = machine.lines()[-1]["overhead"]
    assert [found["bytes"] // MIB for found in share.values()] == [600, 68, 64, 8, 8]
    assert sorted(machine.models()) == sorted([*ends, "tiny", "tiny", "talker"])
    file = next(path for path in machine.files() if path.is_file())
    assert len(load_cases(file).cases) == 4
