"""vramfit run, with scripts that leave what a watched one would: no torch is needed."""

import json
import os
import shutil
import signal
import subprocess
import sys

import jsonschema
import pytest
from installed import PACKAGE, ROOT
from vramfit._dry_run import _words

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "dry_run.schema.json").read_text())

GB = 1_000_000_000


def stage(step, name, allocated, reserved):
    before, after, peak = allocated
    device = {
        "before": before,
        "after": after,
        "peak": peak,
        "reserved": reserved,
        "peak_reserved": reserved,
        "device_used": reserved + GB,
        "peak_device_used": reserved + GB,
    }
    return {"step": step, "stage": name, "devices": [device]}


def took(reserved=10 * GB, **more):
    """What a process writes that trained two steps."""
    return {
        "devices": [{"used": GB, "peak_used": GB, "libraries": GB, "free": 0, "total": 24 * GB}],
        "host": {"locked": 0, "peak_locked": 0, "peak_managed": 0, "resident": GB, "hollow": 0},
        "checkpoints": {"written": [], "kept": []},
        "unknown_calls": [],
        "unknown_reads": 0,
        "doubtful_events": 0,
        "process": 7,
        "uses_gpu": True,
        "stages": [
            stage(0, "load", (0, 2 * GB, 2 * GB), 3 * GB),
            stage(1, "forward", (2 * GB, 5 * GB, 6 * GB), 7 * GB),
            stage(1, "backward", (5 * GB, 3 * GB, 7 * GB), 8 * GB),
            stage(1, "optimizer", (3 * GB, 4 * GB, 4 * GB), 8 * GB),
            stage(2, "backward", (4 * GB, 4 * GB, 9 * GB), reserved),
        ],
        "holders": None,
        "holders_of_stages": None,
        "compile": None,
        "changes": {},
        "steps": 2,
        "ended": "script",
        "batches": [[4, 512]],
        "longest": None,
        "out_of_memory": [],
        "ran_out": False,
        "in_kernel": False,
        "kernels": {"fill": 2},
        "assumptions": [],
        "versions": {"torch": "2.11.0"},
        **more,
    }


OUT_OF_MEMORY = {
    "step": 2,
    "stage": "forward",
    "device": 0,
    "requested": 8 * GB,
    "free": 3 * GB,
    "line": "train.py:41",
}

# A script: what each process leaves, then its own words and end.
_SCRIPT = """
import json, os, pathlib, sys
settings = pathlib.Path(os.environ["VRAMFIT_RUN"])
told = json.loads(settings.read_text())
late = told["facts"]["late_events"]
for number, took in enumerate({took!r}):
    (settings.parent / f"{{number}}.json").write_text(json.dumps(took))
print("of the script")
{end}
"""


@pytest.fixture
def run(tmp_path):
    def run(*flags, took=(), end="", command=None, card=("--gpu", "rtx4090"), **variables):
        script = tmp_path / "train.py"
        script.write_text(_SCRIPT.format(took=list(took), end=end))
        line = [sys.executable, "-m", "vramfit", "run", *card, *map(str, flags)]
        line += ["--", *(command or [sys.executable, str(script)])]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **variables}
        return subprocess.run(line, capture_output=True, text=True, env=environment, check=False)

    return run


def answer_of(run) -> dict:
    answer = json.loads(run.stdout)
    closed = {**SCHEMA, "unevaluatedProperties": False}
    assert list(jsonschema.Draft202012Validator(closed).iter_errors(answer)) == []
    return answer


def refused(run) -> str:
    """Bad input's one line."""
    assert run.returncode == 2, run.stderr
    lines = [line for line in run.stderr.splitlines() if line.startswith("vramfit: error: ")]
    assert len(lines) == 1, run.stderr
    return lines[0]


def test_a_script_that_fits(run):
    ran = run(took=[took()])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("of the script\n\n")
    assert "FITS: 14.11 GB" in ran.stdout
    assert "The peak, in backward of step 2" in ran.stdout
    assert "ran to the script's end, after 2 optimizer steps" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 100


def test_a_script_that_runs_out(run):
    ran = run(took=[took(out_of_memory=[OUT_OF_MEMORY], ran_out=True)], end="sys.exit(1)")
    assert ran.returncode == 1
    words = " ".join(ran.stdout.split())
    assert "OOM: at least 5.00 GB" in words
    assert "in forward of step 2, asking for 8.00 GB with 3.00 GB free (train.py:41)" in words


def test_a_script_that_catches_it(run):
    ran = run(took=[took(out_of_memory=[OUT_OF_MEMORY] * 3)])
    assert ran.returncode == 0
    assert "ran out of memory 3 times and caught it, first in forward" in ran.stdout


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("sys.exit(5)", "status 5"),
        ("os.kill(os.getpid(), 9)", f"signal {int(signal.SIGKILL)}"),
        ("raise KeyError('of its own')", "status 1"),
    ],
)
@pytest.mark.parametrize("left", [[], [took(out_of_memory=[OUT_OF_MEMORY])]])
def test_a_script_that_fails(run, end, says, left):
    if "kill" in end and left:
        left = [{**left[0], "out_of_memory": []}]
    ran = run(took=left, end=end)
    assert ran.returncode == 3
    assert ran.stderr.endswith(f"vramfit: the script itself failed: it ended with {says}\n")
    assert "FITS" not in ran.stdout


def test_its_traceback_is_its_own(run):
    alone = subprocess.run(
        [sys.executable, "-c", "def f(): 1/0\nf()"], capture_output=True, text=True, check=False
    )
    ran = run(command=[sys.executable, "-c", "def f(): 1/0\nf()"])
    assert ran.stderr.startswith(alone.stderr)


def test_json(run, tmp_path):
    ran = run("--json", "-", took=[took()])
    answer = answer_of(ran)
    assert (ran.returncode, ran.stderr) == (0, "of the script\n")
    assert (answer["fits"], answer["verdict"], answer["ended"]) == (True, "FITS", "script")
    assert answer["levels"] == {
        "allocated": 9 * GB,
        "reserved": 10 * GB,
        "device_used": 11 * GB,
    }
    assert answer["total"] == answer["levels"]["reserved"] + answer["overhead"]
    assert answer["margin"] == answer["vram"] - answer["total"]

    run("--json", tmp_path / "answer.json", took=[took()])
    assert json.loads((tmp_path / "answer.json").read_text()) == answer


def test_json_of_what_failed(run):
    ran = run("--json", "-", took=[took()], end="sys.exit(5)")
    answer = answer_of(ran)
    assert ran.returncode == 3
    assert (answer["fits"], answer["verdict"], answer["ended"]) == (None, None, "failed")


def test_a_kernel_that_has_seen_enough_did_not_fail(run):
    enough = took(ended="steady", in_kernel=True)
    ran = run("--json", "-", took=[enough], end="sys.exit(1)")
    answer = answer_of(ran)
    assert ran.returncode == 0
    assert (answer["verdict"], answer["ended"], answer["exit_status"]) == ("FITS", "steady", 1)
    assert run(took=[{**enough, "in_kernel": False}], end="sys.exit(1)").returncode == 3


def test_headroom_is_part_of_the_verdict(run):
    assert run("--headroom", "15GB", took=[took()]).returncode == 1


def test_the_process_that_used_most_is_told(run):
    # What a process used last says nothing of what it used at most.
    most = took(15 * GB)
    idle = took(uses_gpu=False, stages=[])
    answer = answer_of(run("--json", "-", took=[took(), most, idle]))
    assert (answer["processes"], answer["levels"]["reserved"]) == (2, 15 * GB)
    assert "of 2 processes, the one that used its GPU most is told" in answer["notes"]


def test_the_gpu_that_was_used_most_is_told(run):
    stages = [stage(0, "load", (0, GB, GB), 2 * GB), stage(1, "forward", (GB, GB, 3 * GB), 4 * GB)]
    for one, other in zip(stages, took()["stages"], strict=False):
        one["devices"] += other["devices"]
    answer = answer_of(run("--json", "-", "--gpus", 2, took=[took(stages=stages)]))
    assert [gpu["reserved"] for gpu in answer["gpus"]] == [4 * GB, 7 * GB]
    assert answer["levels"]["reserved"] == 7 * GB


def test_band(run):
    late = "took = json.loads((settings.parent / '0.json').read_text())\n"
    late += f"took['stages'][-1]['devices'][0]['peak_reserved'] += {14 * GB} * late\n"
    late += "(settings.parent / '0.json').write_text(json.dumps(took))"
    once = answer_of(run("--json", "-", took=[took()], end=late))
    answer = answer_of(run("--json", "-", "--band", took=[took()], end=late))
    assert (once["verdict"], once["levels_of_late_gpu"]) == ("FITS", None)
    assert answer["levels"] == once["levels"]
    assert answer["levels_of_late_gpu"]["reserved"] == 24 * GB
    assert answer["uncertainty"]["reserved"] == 14 * GB
    assert answer["verdict"] == "TIGHT"


def test_uploads(run):
    end = "print(os.environ['WANDB_MODE'], told['uploads'])"
    assert "disabled False" in run(took=[took()], end=end, WANDB_MODE="online").stdout
    ran = run("--uploads", took=[took()], end=end, WANDB_MODE="online")
    assert "online True" in ran.stdout


@pytest.mark.parametrize(("variables", "seed"), [({}, "0"), ({"PYTHONHASHSEED": "7"}, "7")])
def test_sets_have_one_order_each_time(run, monkeypatch, variables, seed):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    ran = run(took=[took()], end="print('seed', os.environ['PYTHONHASHSEED'])", **variables)
    assert f"seed {seed}\n" in ran.stdout


def test_settings_reach_the_script(run):
    end = "print([told[k] for k in ('steps', 'longest', 'records')], told['facts']['strict'])"
    assert "[None, False, False] False" in run(took=[took()], end=end).stdout
    ran = run("--steps", 3, "--longest", "--strict", took=[took()], end=end)
    assert "[3, True, False] True" in ran.stdout


def test_sitecustomize_of_others_runs_too(run, tmp_path):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "sitecustomize.py").write_text("print('of others')")
    path = os.pathsep.join([str(PACKAGE), str(tmp_path / "others")])
    assert "of others\nof the script" in run(took=[took()], PYTHONPATH=path).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--gpu", "rtx4091"], "did you mean 'rtx4090'"),
        (["--vram", "lots"], "vram: is 'lots'; a size such as 24GB"),
        (["--steps", "0"], "run: --steps: is '0'; a whole number from 1"),
        (["--gpus", "many"], "run: --gpus: is 'many'; a whole number from 1"),
        (["--json"], "run: --json: wants a value"),
        (["--frobnicate"], "run: no flag --frobnicate"),
        (["--step", "3"], "run: no flag --step"),
        (["python"], "-- goes before the command, 'python'"),
        (["--json", "/nowhere/at/all"], "'/nowhere/at/all' cannot be written"),
    ],
)
def test_bad_flags(run, arguments, says):
    card = () if "--vram" in arguments else ("--gpu", "rtx4090")
    assert says in refused(run(*arguments, card=card))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program"], "no program 'no-such-program'"),
        (["train.py"], "no program 'train.py'; python train.py, goes behind the --"),
        ([sys.executable, "nothere.py"], "no script 'nothere.py'"),
        ([sys.executable, "-X", "dev", "nothere.py"], "no script 'nothere.py'"),
        ([sys.executable, "-uW", "ignore", "nothere.py"], "no script 'nothere.py'"),
        ([sys.executable, "-Bm", "json.tool", "--help"], "never imported torch"),
        ([sys.executable, "-I", "-c", "1"], "python -I ignores PYTHONPATH"),
        ([sys.executable, "-uE", "-c", "1"], "python -E ignores PYTHONPATH"),
        ([sys.executable, "-S", "-c", "1"], "python -S leaves out sitecustomize"),
        (["true"], "'true' started no Python that vramfit reaches"),
        ([sys.executable, "-c", "1"], "never imported torch"),
    ],
)
def test_bad_commands(run, command, says):
    assert says in refused(run(command=command))


@pytest.mark.parametrize(("variable", "hides"), [("", True), ("2,0", True), ("1", False)])
def test_gpus_that_the_environment_hides(run, variable, hides):
    ran = run("--gpus", 2, took=[took()], CUDA_VISIBLE_DEVICES=variable)
    if hides:
        assert f"CUDA_VISIBLE_DEVICES={variable} hides all GPUs of --gpus 2" in refused(ran)
    else:
        assert ran.returncode == 0


def test_no_command():
    for arguments, says in (([], "no command"), (["--"], "nothing after --")):
        line = [sys.executable, "-m", "vramfit", "run", "--gpu", "rtx4090", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        ran = subprocess.run(line, capture_output=True, text=True, env=environment, check=False)
        assert says in refused(ran)


def test_a_python_without_torch(run):
    blocked = "sys.path[:] = [p for p in sys.path if 'packages' not in p]\nimport torch"
    ran = run(command=[sys.executable, "-c", f"import sys\n{blocked}"])
    assert f"{sys.executable} has no torch" in refused(ran)


def test_a_process_that_was_refused(run):
    end = "(settings.parent / '9.refused').write_text('it has a reason'); sys.exit(2)"
    assert "run: it has a reason" in refused(run(took=[took()], end=end))


@pytest.mark.parametrize(
    ("library", "says"),
    [(None, "this vramfit has no stand-in"), (b"of another system", "cannot load the stand-in: ")],
)
def test_a_stand_in_that_cannot_be_loaded(run, tmp_path, library, says):
    """As with a C library that is too old."""
    copied = tmp_path / "package"
    shutil.copytree(
        PACKAGE / "vramfit", copied / "vramfit", ignore=shutil.ignore_patterns("*_standin.so")
    )
    if library is not None:
        (copied / "vramfit" / "standin" / "libvramfit_standin.so").write_bytes(library)
    command = [sys.executable, "-c", "import torch"]
    assert says in refused(run(command=command, PYTHONPATH=str(copied)))


def test_a_script_without_a_gpu(run):
    assert "put nothing on a GPU" in refused(run(took=[took(uses_gpu=False, stages=[])]))


def test_help(run):
    line = [sys.executable, "-m", "vramfit", "run", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    shown = subprocess.run(line, capture_output=True, text=True, env=environment, check=True)
    for flag in ("--gpu", "--gpus", "--steps", "--longest", "--band", "--strict", "--json"):
        assert flag in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


ANSWER = {
    "compile": None,
    "batches": [[4, 512]],
    "longest": None,
    "processes": 1,
    "gpus": [{"device_used": GB}],
    "levels": {"reserved": GB},
    "levels_of_late_gpu": None,
    "out_of_memory_caught": [],
    "kernels": {"cudnn attention, forward": 4, "cudnn attention, backward": 2, "fill": 9},
    "assumptions": [],
    "unknown_calls": [],
    "doubtful_events": 0,
    "host": {"page_locked": 0, "managed": 0, "resident": GB, "hollow": 0},
    "checkpoints": {"written": [], "kept": []},
}


MEASURED = {"assumed_from": ""}


def called(name, calls, by="", as_zero=False) -> dict:
    library = "libcuda.so.1"
    return {"library": library, "name": name, "calls": calls, "by": by, "as_zero": as_zero}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"batches": [[4, 80], [4, 512], [2, 300]]}, "batches had 80 to 512 tokens a row"),
        ({"longest": []}, "no DataLoader gave batches"),
        ({"longest": ["the longest batch"]}, "the longest batch"),
        ({"doubtful_events": 3}, "3 times memory could be given again only if"),
        ({"levels_of_late_gpu": {"reserved": 2 * GB}}, "the true figure lies between"),
        ({"levels_of_late_gpu": {"reserved": GB}}, "which makes no difference"),
        ({"host": {**ANSWER["host"], "page_locked": GB}}, "1.00 GB were page-locked"),
        ({"processes": 2}, "of 2 processes"),
        ({"assumptions": [{"what": "/a/b/c.py:3", "times": 1}]}, "read 1 time, and assumed: b/c"),
        (
            {"assumptions": [{"what": "of RNNs PyTorch's own ran", "times": 2}]},
            "of RNNs PyTorch's own ran (2 times)",
        ),
        (
            {"unknown_calls": [called("cuNew", 2, by="/lib/libnew.so")]},
            "not known of libcuda.so.1, called by libnew.so, and without effect: cuNew (2 times)",
        ),
        (
            {"unknown_calls": [called("a_bufferSize", 1, as_zero=True)]},
            "so a real run may take more: a_bufferSize (1 time)",
        ),
        (
            {"unknown_calls": [called("cuGetExportTable", 1, by="/lib/libown.so")]},
            "/lib/libown.so has a CUDA runtime of its own inside",
        ),
    ],
)
def test_notes(more, says):
    notes = list(_words.notes({**ANSWER, **more}, MEASURED))
    assert len(notes) == 1
    assert says in notes[0]


def test_nothing_to_note():
    assert _words.notes(ANSWER, {**MEASURED, "notes": ["of the card"]}) == ["of the card"]


def test_what_was_measured_on_another_card_is_named_where_it_was_used():
    card = {"assumed_from": "NVIDIA H200", "title": "NVIDIA B200"}
    assert _words.notes(ANSWER, card) == [
        "cuDNN's attention ran 6 times: its workspace is as read off an NVIDIA H200, since no "
        "source tells it of the NVIDIA B200"
    ]
    assert _words.notes({**ANSWER, "kernels": {"fill": 9}}, card) == []
    assert "NCCL" in _words.notes({**ANSWER, "kernels": {"nccl collective": 1}}, card)[0]
