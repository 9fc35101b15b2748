"""What an answer holds and draws."""

import copy
import dataclasses
import pickle
import subprocess
import threading
import time
from xml.etree import ElementTree

import built
import pytest
import vramfit

RUN = {
    "model": "llama2-7b",
    "train": True,
    "batch": 4,
    "seq": 512,
    "gpu": "rtx4090",
    "precision": "bf16",
}
SMALL = {"model": "gpt2-124m", "batch": 2, "seq": 64, "gpu": "rtx4090"}


def test_attributes_are_the_json_s():
    answer = vramfit.estimate(**RUN)
    values = answer.to_dict()
    assert (answer.fits, answer.verdict) == (False, "OOM") == (values["fits"], values["verdict"])
    assert answer.total == values["total"]
    assert answer.margin == answer.card.vram - answer.total
    assert dataclasses.asdict(answer.levels) == values["levels"]
    assert answer.components == values["components"]
    assert sum(answer.components.values()) == answer.levels.allocated
    assert dataclasses.asdict(answer.peak) == values["peak"]
    assert [dataclasses.asdict(stage) for stage in answer.stages] == values["stages"]
    assert list(answer.notes) == values["notes"]
    assert dataclasses.asdict(answer.card.uncertainty) == values["uncertainty"]
    assert answer.largest is None
    assert answer == vramfit.estimate(**RUN)


def test_it_is_frozen():
    answer = vramfit.estimate(**SMALL)
    for of, name in ((answer, "fits"), (answer.levels, "allocated"), (answer.card, "total")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(of, name, 1)


def test_without_a_card_every_card_is_answered_for():
    answer = vramfit.estimate(model="gpt2-124m", seq=64)
    if len(answer.cards) == 1:
        pytest.skip("this machine has a GPU")
    assert [card.verdict for card in answer.cards] == [
        card["verdict"] for card in answer.to_dict()["cards"]
    ]
    for of_one in ("fits", "verdict", "total"):  # not of any of them
        with pytest.raises(AttributeError, match="cards"):
            getattr(answer, of_one)


def test_searches_and_advice():
    batch = vramfit.max_batch(model="llama2-7b", gpu="h200").largest
    assert 0 < batch.surely <= batch.size <= batch.possibly
    at = vramfit.estimate(model="llama2-7b", gpu="h200", batch=batch.size)
    beyond = vramfit.estimate(model="llama2-7b", gpu="h200", batch=batch.size + 1)
    assert (at.fits, beyond.fits) == (True, False)
    assert vramfit.max_seq(model="gpt2-124m", gpu="h200").largest.size == 1024
    changes = vramfit.advise(**RUN).advice
    assert changes[0].verdict == "FITS"
    assert changes[0].script["TrainingArguments"] == ("gradient_checkpointing=True",)
    assert vramfit.estimate(**RUN).advice == ()


def test_text_is_what_the_command_prints():
    command = [built.program("fit"), "--model=gpt2-124m", "--batch=2", "--seq=64", "--gpu=rtx4090"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(vramfit.estimate(**SMALL)) == printed.stdout


def test_a_notebook_shows_a_picture():
    html = vramfit.estimate(**RUN)._repr_html_()
    svg = ElementTree.fromstring(html)[0]
    assert svg.attrib["aria-label"].startswith("OOM: 34.")
    bars = [float(part.attrib["width"]) for part in svg if part.find("{*}title") is not None]
    answer = vramfit.estimate(**RUN)
    assert sum(bars) == pytest.approx(638, abs=0.1)  # all of the total, which is more than VRAM
    share = answer.components["parameters"] / answer.total
    assert bars[0] == pytest.approx(638 * share, abs=0.1)
    hostile = {
        "model_type": "gpt2",
        "n_embd": 64,
        "n_layer": 1,
        "n_head": 2,
        "n_positions": 64,
        "vocab_size": 64,
    }
    named = vramfit.estimate(config=hostile, model="<script>", seq=8, gpu="rtx4090")
    assert "<script>" not in named._repr_html_()
    ElementTree.fromstring(vramfit.estimate(model="gpt2-124m", seq=64)._repr_html_())


def test_plot_draws_all_parts():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    answer = vramfit.estimate(**RUN)
    axes = answer.plot()
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(answer.total / 1e9)
    assert axes.get_title().startswith("OOM")
    pyplot.close("all")


def test_snapshot_and_trace_are_the_commands(tmp_path):
    command = [built.program("fit"), "--model=gpt2-124m", "--batch=2", "--seq=64", "--gpu=rtx4090"]
    files = [f"--snapshot={tmp_path / 'a.pickle'}", f"--trace={tmp_path / 'a.json'}"]
    subprocess.run([*command, *files], capture_output=True, check=True)
    answer = vramfit.estimate(**SMALL)
    answer.snapshot(tmp_path / "b.pickle")
    answer.trace(tmp_path / "b.json")
    assert (tmp_path / "a.pickle").read_bytes() == (tmp_path / "b.pickle").read_bytes()
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert pickle.loads((tmp_path / "b.pickle").read_bytes())["segments"]
    with pytest.raises(vramfit.BadInput, match="one size"):
        vramfit.max_batch(model="gpt2-124m", gpu="rtx4090").snapshot(tmp_path / "c.pickle")


def test_a_predicted_run_verifies_itself(tmp_path):
    run = {**SMALL, "train": True}
    vramfit.estimate(**run).snapshot(tmp_path / "own.pickle")
    same = vramfit.verify(tmp_path / "own.pickle", **run)
    assert same.agree, str(same)
    other = vramfit.verify((tmp_path / "own.pickle").read_bytes(), **{**run, "batch": 3})
    assert not other.agree
    assert other.to_dict()["agree"] is False
    for bad, what in (
        (b"no pickle", "verify"),
        (tmp_path / "none", "cannot read"),
        ("/dev/zero", "no regular file"),
    ):
        with pytest.raises(vramfit.BadInput, match=what):
            vramfit.verify(bad, **run)


def test_other_threads_run_meanwhile():
    """The GIL is released: a thread of Python gets on while an estimate is made."""
    counted = 0
    ended = threading.Event()

    def count():
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    time.sleep(0.01)
    before = counted
    start = time.perf_counter()
    while time.perf_counter() - start < 0.2:
        vramfit._core.ask(
            '{"model": "llama2-7b", "max_batch": true, "gpu": "h200", "train": true}', []
        )
    gained = counted - before
    ended.set()
    thread.join()
    assert gained >= 10


def test_answers_go_between_processes():
    answer = vramfit.estimate(**SMALL)
    again = pickle.loads(pickle.dumps(answer))
    assert again == answer
    assert again.text() == answer.text()
    assert copy.deepcopy(answer) == answer
