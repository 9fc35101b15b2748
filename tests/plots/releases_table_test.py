"""From release to release: the report's tables of data/releases/."""

import json
from dataclasses import replace

import pytest
from vramfit_plots.files import AbsentError, data_dir
from vramfit_plots.releases import load_releases
from vramfit_plots.topics import releases

MIB = 1 << 20
CASE, OTHER = "of/llama2-7b/train", "of/gpt2/train"
LINE = {
    "component": "workspace",
    "in_backward": True,
    "line": "transformers/models/llama/modeling_llama.py:480",
    "old": 64 * MIB,
    "new": 0,
}


def reading(allocated, reserved):
    return {"peak": allocated, "peak_reserved": reserved}


def write(folder, name, **cases):
    (folder / name).mkdir()
    lines = [{"env": {"torch": name}}]
    lines += [
        {"case": case, **({"failed": told} if isinstance(told, str) else {"readings": told})}
        for case, told in cases.items()
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / name / "cases.jsonl").write_text(text)


@pytest.fixture
def played(tmp_path):
    stages = {"forward": reading(90 * MIB, 100 * MIB), "backward": reading(80 * MIB, 120 * MIB)}
    less = {"forward": reading(26 * MIB, 36 * MIB), "backward": reading(20 * MIB, 120 * MIB)}
    write(tmp_path, "one", **{CASE: stages, OTHER: stages})
    write(tmp_path, "two", **{CASE: less, OTHER: stages})
    write(tmp_path, "three", **{CASE: "it has no such op", OTHER: stages})
    moved = [
        {"peak": [9, 8], "lines": []},
        {"peak": [64 * MIB, 0], "lines": [LINE]},
    ]
    row = {"case": CASE, "moved": moved}
    changes = [
        {"old": "one", "new": "two", "rows": [row]},
        {"old": "two", "new": "three", "rows": []},
    ]
    (tmp_path / "changes.json").write_text(json.dumps(changes))
    return load_releases(tmp_path)


def test_peaks_of_each_release(inputs, played):
    table, _ = releases.build(replace(inputs, releases=played))
    assert table.headings == ["case", "one", "two", "three"]
    assert table.rows == [
        [CASE, "0.094\nreserved 0.126", "0.027\nreserved 0.126", "\N{EN DASH}"],
    ]


def test_what_moved_and_where(inputs, played):
    _, moved = releases.build(replace(inputs, releases=played))
    minus = "\N{MINUS SIGN}64.00"
    where = f"{minus} MiB workspace, backward of llama/modeling_llama.py:480"
    assert moved.rows == [["one\ntwo", CASE, minus, "0.00", where]]


def test_who_held_what_may_be_unknown(inputs, played):
    played.changes[0]["rows"][0]["moved"][1]["lines"] = None
    _, moved = releases.build(replace(inputs, releases=played))
    assert moved.rows[0][-1] == "which line, PyTorch 2.9 does not tell"


def test_without_releases_there_is_no_table(inputs):
    with pytest.raises(AbsentError):
        releases.build(replace(inputs, releases=None))


def test_those_that_are_kept_are_told(inputs):
    table, moved = releases.build(inputs)
    kept = json.loads((data_dir() / "releases" / "changes.json").read_text())
    assert table.headings[1:] == [kept[0]["old"], *(change["new"] for change in kept)]
    assert len(table.rows) >= 3
    assert moved.rows


def test_the_picture_has_every_pytorch_once(inputs):
    picture = releases.draw(inputs)
    found = inputs.releases
    torches = list(dict.fromkeys(release.versions["torch"] for release in found.in_order))
    assert len(torches) < len(found.in_order)
    panels = picture.figure.axes
    assert len(panels) == 4
    for axes in panels:
        shown = [label.get_text() for label in axes.get_xticklabels()]
        assert shown == [".".join(torch.split(".")[:2]) for torch in torches]
        reserved, allocated = (line.get_ydata() for line in axes.lines)
        assert len(reserved) == len(allocated) == len(torches)
        assert all(high > low for high, low in zip(reserved, allocated, strict=True))
    (case,) = {
        row["case"] for change in found.changes for row in change["rows"] if row["name"] == "step"
    }
    assert panels[0].lines[0].get_ydata()[-1] == found.in_order[-1].highest(case)[1] / 1e9
    assert "simulated" in picture.signature


def test_its_title_tells_what_moved(inputs):
    title = releases.draw(inputs).title
    assert title.startswith(
        "Reserved at most, from PyTorch 2.9 to 2.15: 7B, a step \N{MINUS SIGN}1.3"
    )
    assert "LoRA" not in title, "0.03 GB"


def test_without_what_is_told_nothing_is_drawn(inputs, played):
    for without in (None, replace(played, changes=[{"rows": []}])):
        with pytest.raises(AbsentError):
            releases.draw(replace(inputs, releases=without))
