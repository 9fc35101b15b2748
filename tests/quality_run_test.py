"""The trained model's run, in small and on the CPU: every part once, and what comes of it."""

import json
import lzma
import random
import struct
import sys

import pytest
from built import ROOT, program
from quality import __main__ as run
from quality import gather
from quality.plan import shortened
from vramfit_plots.quality import load_quality

VOCABULARY = 67
CONFIG = {
    **json.loads((ROOT / "tests" / "fixtures" / "tiny-gpt2" / "config.json").read_text()),
    "n_embd": 128,
    "n_head": 2,
    "n_layer": 1,
}
SIDE = """#!{python}
import json, pathlib, sys
if sys.argv[1] == "-c":
    print('{{"gpu": "a card", "torch": "2.11.0", "transformers": "5.17.0"}}')
    sys.exit()
flags = dict(flag.removeprefix("--").split("=", 1) for flag in sys.argv[2:])
assert pathlib.Path(flags["start"]).exists() and pathlib.Path(flags["batches"]).exists()
said = [json.loads(line) for line in open(flags["rates"])]
steps = [line for line in said if "loss" in line][: int(flags["steps"])]
pathlib.Path(flags["log"]).write_text("".join(json.dumps(line) + "\\n" for line in steps))
"""


def _course(folder):
    (folder / "config.json").write_text(json.dumps(CONFIG))
    score = [
        {"cache": "unquantized", "precisions": ["bf16", "nf4"]},
        {"cache": "int8", "precisions": ["bf16"]},
    ]
    lora = {"name": "lora-nf4", "precision": "nf4", "lora": 4, "learning_rate": 1e-3}
    every = {"name": "all", "precision": "bf16", "lora": 0, "learning_rate": 1e-3}
    course = {
        "model": "tiny",
        "config": str(folder / "config.json"),
        **{"batch": 4, "seq": 16, "steps": 12, "warm_up": 2, "learning_rate": 1e-2},
        **{"evaluate_every": 5, "evaluate_on": 1, "pytorch_steps": 4, "pytorch_micro": 2},
        "score": {"batch": 4, "prompt": 8, "windows": 8, "rows": score},
        "tuning": {
            **{"batch": 4, "steps": 6, "warm_up": 1, "evaluate_on": 1},
            "courses": [lora, every],
        },
    }
    (folder / "course.json").write_text(json.dumps(course))
    return course


def _tokens(folder):
    folder.mkdir()
    for seed, name in enumerate(("train", "held_out", "slice_train", "slice_held_out")):
        dice = random.Random(seed)
        tokens = [dice.randrange(VOCABULARY) // (1 + dice.randrange(5)) for _ in range(900)]
        packed = lzma.compress(struct.pack("<900H", *tokens))
        (folder / f"{name}.u16.xz").write_bytes(packed)


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """The run, from nothing or from where it stopped."""
    _tokens(tmp_path / "tokens")
    _course(tmp_path)
    side = tmp_path / "python"
    side.write_text(SIDE.format(python=sys.executable))
    side.chmod(0o755)

    def go(*flags, out="out", seconds=300):
        given = [
            f"--tokens={tmp_path / 'tokens'}",
            f"--course={tmp_path / 'course.json'}",
            f"--state={tmp_path / 'state'}",
            f"--out={tmp_path / out}",
            f"--program={program('quality')}",
            f"--python={side}",
            "--device=cpu",
            f"--seconds={seconds}",
        ]
        return run.main([*given, *flags])

    return go


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_part_is_done_once_and_gathered(tmp_path, measure):
    assert measure() == 0
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "state").iterdir()}
    assert measure(out="again") == 0
    assert made == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "state").iterdir()}
    assert {path.name for path in (tmp_path / "again").iterdir()} == set(run._RESULTS)
    again = tmp_path / "again"
    facts = json.loads((again / "facts.json").read_text())
    (again / "facts.json").write_text(json.dumps({"driver": "580.1", "commit": "abc", **facts}))
    assert gather.main([str(again), f"--out={tmp_path / 'results.json'}"]) == 0
    kept = load_quality(tmp_path / "results.json")
    assert len(kept.losses["vramfit"]) == 12
    assert kept.losses["PyTorch"] == kept.losses["vramfit"][:4]
    assert [step for step, _ in kept.held_out] == [0, 5, 10, 12]
    assert [(s.precision, s.cache) for s in kept.scores] == [
        ("bf16", "unquantized"),
        ("nf4", "unquantized"),
        ("bf16", "int8"),
    ]
    assert [one.name for one in kept.tuned] == ["lora-nf4", "all"]
    assert all(one.after != one.before for one in kept.tuned)


def test_a_part_that_fails_stops_no_other(tmp_path, measure, capsys):
    (tmp_path / "python").write_text(f"#!{sys.executable}\nimport sys; sys.exit(1)\n")
    assert measure() == 1
    assert "failed: facts, pytorch" in capsys.readouterr().out
    assert len(_lines(tmp_path / "out" / "scores.jsonl")) == 3
    assert (tmp_path / "out" / "tuned.jsonl").exists()


def test_without_time_nothing_is_begun(tmp_path, measure):
    assert measure(seconds=run._LEAST - 1) == 0
    assert not list((tmp_path / "state").iterdir())


def test_a_killed_score_goes_on_where_it_stopped(tmp_path, measure):
    assert measure() == 0
    scores = tmp_path / "state" / "scores.jsonl"
    before = _lines(scores)
    scores.write_text(json.dumps(before[0]) + "\n")
    (tmp_path / "state" / "score.done").unlink()
    assert measure() == 0
    assert _lines(scores) == before


def test_a_torn_log_is_refused_in_one_line(tmp_path, measure, capsys):
    assert measure() == 0
    scores = tmp_path / "state" / "scores.jsonl"
    whole = scores.read_text()
    (tmp_path / "state" / "score.done").unlink()
    for torn, why in (
        (whole[:-20], "scores.jsonl:3: not JSON"),
        (f"{whole}5\n", "scores.jsonl: a line of it has no 'precision'; remove that line"),
    ):
        scores.write_text(torn)
        capsys.readouterr()
        assert measure() == 1
        told = capsys.readouterr()
        assert told.err.startswith("score: ")
        assert why in told.err
        assert len(told.err.splitlines()) == 1
        assert "failed: score" in told.out
        assert gather.main([str(tmp_path / "out"), f"--out={tmp_path / 'results.json'}"]) == 2
        assert why in capsys.readouterr().err


def test_the_kept_course_can_be_cut_short():
    course = json.loads((ROOT / "data" / "quality" / "course.json").read_text())
    short = shortened(course)
    assert short["steps"] < course["steps"]
    assert short["score"]["rows"] == course["score"]["rows"]
    assert short["warm_up"] < short["steps"]
    assert short["pytorch_steps"] < short["steps"]
