"""The kept runs over time."""

import json
import re
import shutil
from pathlib import Path

import pytest
import synthetic
from vramfit_plots.files import BadInputError, data_dir
from vramfit_plots.history.causes import causes, mattering
from vramfit_plots.history.changes import transitions
from vramfit_plots.history.figures import pictures
from vramfit_plots.history.page import PICTURES, tables, write_history
from vramfit_plots.history.runs import History, load_history
from vramfit_plots.run import newest_run

ROW = "Training/llama2-7b/fp16/adamw/batch:4/seq:512"
CLIFF = "OomCliff/llama2-7b/fp16/adamw/seq:512/gpu:h100-80gb"
MIB = 2**20


def content(date: str, **context) -> dict:
    document = synthetic.document(measured=True)
    document["context"] |= {"date": f"{date}T12:00:00+00:00", "commit": date[-2:] * 3, **context}
    families = ("Training/llama2-7b/fp16/adamw/", "OomCliff/llama2-7b/fp16/adamw/")
    wanted = (*families, "Inference/llama2-7b/fp16/")
    rows = [row for row in document["benchmarks"] if row["name"].startswith(wanted)]
    document["benchmarks"] = [{**row, "tokens_per_second": 100.0} for row in rows]
    return document


def row_of(document: dict, name: str) -> dict:
    return next(row for row in document["benchmarks"] if row["name"] == name)


def loaded(folder: Path, *documents: dict) -> History:
    for i, document in enumerate(documents):
        path = folder / "runs" / "card" / "driver" / f"{i}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        synthetic.write(path, document)
    history = load_history(folder / "runs")
    assert history is not None
    return history


def shown(history: History) -> dict:
    return {table.key: table for table in tables(history, transitions(history))}


def test_nothing_that_moved_is_said_as_such(tmp_path):
    history = loaded(tmp_path, content("2026-11-21"), content("2026-11-22"))
    found = shown(history)
    (cause,) = found["history_causes"].rows
    assert cause[0].startswith("1 \N{RIGHTWARDS ARROW} 2\n2026-11-21")
    assert cause[1] == "nothing"
    assert found["history"].rows[1][6] == f"none of {len(history.runs[0].rows)} rows"
    assert "history_changes" not in found
    titles = {picture.key: picture.title for picture in pictures(history, transitions(history))}
    assert titles["history_training"] == "Training: none of 15 rows moved in 2 runs"


def test_a_row_that_moved_is_named_with_both_figures(tmp_path):
    after = content("2026-11-22", driver="590.1", cudnn="9.20.0")
    row_of(after, ROW)["mem_device_used"] += 12 * MIB
    row_of(after, CLIFF)["mem_max_batch"] -= 1
    history = loaded(tmp_path, content("2026-11-21", cudnn="9.19.0"), after)
    found = shown(history)
    moved = {row[1]: row[2:] for row in found["history_changes"].rows}
    assert moved[ROW][0] == "device used"
    assert moved[ROW][3] == "+12.00\N{NO-BREAK SPACE}MiB"
    assert moved[CLIFF][0] == "largest batch"
    assert moved[CLIFF][3] == "\N{MINUS SIGN}1"
    newest = found["history"].rows[1]
    assert newest[3].startswith("driver 590.1, ")
    assert newest[4] == "a: driver 590.1, cuDNN 9.20.0"
    assert newest[6].startswith("1 of "), "a batch; of 80 GB 12 MiB are little"
    assert newest[6].endswith("\n1 by 0.1\N{NO-BREAK SPACE}% at most")
    titles = {picture.key: picture.title for picture in pictures(history, transitions(history))}
    assert re.search(
        r"1 of 15 rows moved in 2 runs; the most, device used of llama2-7b",
        titles["history_training"],
    )


def test_many_rows_that_one_cause_moved_are_a_line(tmp_path):
    """A library that takes 2 MiB more moves every row, and none of them by much."""
    before, after = content("2026-11-21"), content("2026-11-22", cudnn="9.20.0")
    trained = [row for row in after["benchmarks"] if row["name"].startswith("Training/")]
    for row in trained:
        row["mem_device_used"] += 2 * MIB
    for counter in ("mem_allocated", "mem_reserved", "mem_device_used"):
        row_of(after, ROW)[counter] += 500 * MIB
    (transition,) = transitions(loaded(tmp_path, before, after))
    asked, libraries = causes(transition)
    assert (asked.what, asked.row) == ("what the step asks for", ROW)
    assert asked.by == "+500.00\N{NO-BREAK SPACE}MiB"
    assert libraries.what == "driver and libraries"
    assert len(libraries.changes) == len(trained) - 1
    assert libraries.by == "+2.00\N{NO-BREAK SPACE}MiB"
    assert mattering(transition) == 1


def test_a_remainder_is_told_where_nothing_else_moved(tmp_path):
    after = content("2026-11-22")
    row_of(after, ROW)["mem_unattributed"] -= 2 * MIB
    (transition,) = transitions(loaded(tmp_path, content("2026-11-21"), after))
    (cause,) = causes(transition)
    assert (cause.what, cause.by) == (
        "driver and libraries",
        "\N{MINUS SIGN}2.00\N{NO-BREAK SPACE}MiB",
    )
    assert mattering(transition) == 0


def test_rows_that_are_new_or_gone_are_counted(tmp_path):
    before, after = content("2026-11-21"), content("2026-11-22")
    del before["benchmarks"][0]
    del after["benchmarks"][1:3]
    moved = shown(loaded(tmp_path, before, after))["history"].rows[1][6]
    assert moved.endswith("\n1 new, 2 gone")


@pytest.mark.parametrize("order", [1, -1])
def test_of_repetitions_the_worst_counts(tmp_path, order):
    after = content("2026-11-22")
    for name, counter, by in ((ROW, "mem_allocated", 5 * MIB), (CLIFF, "mem_max_batch", -1)):
        row = row_of(after, name)
        at = after["benchmarks"].index(row)
        after["benchmarks"][at : at + 1] = [row, {**row, counter: row[counter] + by}][::order]
    history = loaded(tmp_path, content("2026-11-21"), after)
    found = {change.row: change.new - change.old for change in transitions(history)[0].changes}
    assert found == {ROW: 5 * MIB, CLIFF: -1}


@pytest.mark.parametrize(
    ("what", "said", "counted"),
    [
        ({"error_occurred": True, "error_message": "x"}, "now fails", "1 now failed"),
        ({"oom": 1.0}, "now runs out of memory", "1 now out of memory"),
    ],
)
def test_a_row_that_no_longer_runs_is_said_and_not_gone(tmp_path, what, said, counted):
    after = content("2026-11-22")
    row = row_of(after, ROW)
    for key in [key for key in row if key.startswith("mem_")]:
        del row[key]
    row |= what
    history = loaded(tmp_path, content("2026-11-21"), after, content("2026-11-23"))
    found = shown(history)
    assert found["history"].rows[1][6].endswith(f"\n{counted}")
    assert "1 of " in found["history"].rows[2][6], "it is back"
    changes = [row[1:] for row in found["history_changes"].rows]
    assert [ROW, said.removeprefix("now "), "no", "yes", said] in changes
    titles = {picture.key: picture.title for picture in pictures(history, transitions(history))}
    assert titles["history_training"].endswith(said)


def test_runs_are_in_the_order_of_instants_and_undated_ones_first(tmp_path):
    dates = ("2026-11-22T01:00:00+02:00", "unknown", "2026-11-21T23:30:00+00:00")
    documents = [content("2026-11-21", commit=f"{i}") for i in range(3)]
    for document, date in zip(documents, dates, strict=True):
        document["context"]["date"] = date
    row_of(documents[2], ROW)["mem_allocated"] += MIB
    history = loaded(tmp_path, *documents)
    assert [run.context["commit"] for run in history.runs] == ["1", "0", "2"]
    write_history(history, tmp_path)
    assert "3 runs: none of" in (tmp_path / "history.html").read_text()
    assert newest_run(tmp_path / "runs").name == "2.json"


def test_cards_are_not_compared_with_each_other(tmp_path):
    """One card's runs follow another's, each by date."""
    history = loaded(
        tmp_path,
        content("2026-11-23"),
        content("2026-11-22", gpu="NVIDIA H100"),
        content("2026-11-21"),
    )
    assert [run.context["gpu"] for run in history.runs] == ["NVIDIA H200"] * 2 + ["NVIDIA H100"]
    assert list(history.pairs) == [(0, 1)]
    assert [mark.text for mark in history.marks] == ["card NVIDIA H100"]


def test_thirty_runs_are_drawn_and_one_too(tmp_path):
    many = [content(f"2026-{month:02d}-{day:02d}") for month in (1, 2, 3) for day in range(1, 11)]
    many[20]["context"]["driver"] = "590.1"
    for count, documents in ((1, many[:1]), (30, many)):
        history = loaded(tmp_path / str(count), *documents)
        for picture in pictures(history, transitions(history)):
            labels = [
                label.get_text()
                for axes in picture.figure.axes
                for label in axes.get_xticklabels()
                if axes.get_subplotspec().is_last_row()
            ]
            assert 0 < len(set(labels)) <= 12, picture.key
    assert [mark.letter for mark in history.marks] == ["a", "b"]


def test_strange_names_are_drawn(tmp_path):
    document = content("2026-11-21", driver="x y" * 900, commit="")
    row_of(document, CLIFF)["name"] = "OomCliff/\N{CJK UNIFIED IDEOGRAPH-4E2D}"
    row_of(document, ROW)["name"] = "Training/$x$/batch:1"
    row_of(document, "Inference/llama2-7b/fp16/batch:8/seq:2048")["tokens_per_second"] = 0
    history = loaded(tmp_path, document, content("2026-11-22"))
    write_history(history, tmp_path)
    assert len(history.marks[0].text) < 200


def test_the_page_needs_nothing_else_and_old_pictures_go(tmp_path):
    figures = tmp_path / "figures"
    figures.mkdir()
    (figures / "history_overhead.png").write_text("of an older report")
    write_history(loaded(tmp_path, content("2026-11-21"), content("2026-11-22")), tmp_path)
    page = (tmp_path / "history.html").read_text()
    for link in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert (tmp_path / link).is_file() or link == "index.html", link
    assert "GPU memory over 2 runs: none of" in page
    assert 'src="figures/history_training.svg"' in (tmp_path / "history_training.html").read_text()
    assert not (figures / "history_overhead.png").exists()
    assert (figures / "history_training.svg").exists()
    write_history(None, tmp_path)
    assert list(figures.iterdir()) == []


def test_the_committed_runs_are_read(tmp_path):
    history = load_history(data_dir() / "runs")
    assert len(history) >= 3
    assert {picture.key for picture in pictures(history, transitions(history))} == {
        f"history_{name}" for name in PICTURES
    }


def test_a_real_difference_is_found(tmp_path):
    """Of the runs that data/comparisons keeps: the same build with modules loaded eagerly."""
    folder = tmp_path / "card" / "driver"
    folder.mkdir(parents=True)
    for name in ("base", "eager"):
        shutil.copy(data_dir() / "comparisons" / f"{name}.json", folder)
    history = load_history(tmp_path)
    assert [mark.text for mark in history.marks] == ["module loading EAGER"]
    (transition,) = transitions(history)
    assert {change.figure for change in transition.changes} == {"device used", "unattributed"}
    assert all(change.new > change.old for change in transition.changes)


def test_a_folder_without_runs_has_no_history(tmp_path):
    assert load_history(tmp_path) is None
    path = tmp_path / "card" / "driver" / "2026-11-21-abc1234-compare.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert load_history(tmp_path) is None, "a comparison with PyTorch is no run"


@pytest.mark.parametrize("text", ["{", "[]", '{"context": {}, "benchmarks": []}'])
def test_a_run_that_cannot_be_read_is_named(tmp_path, text):
    loaded(tmp_path, content("2026-11-21"))
    (tmp_path / "runs/card/driver/older.json").write_text(text)
    with pytest.raises(BadInputError, match=r"older\.json"):
        load_history(tmp_path / "runs")


def test_a_newer_schema_is_refused(tmp_path):
    document = content("2026-11-21")
    document["context"]["schema_version"] = "9"
    (tmp_path / "card/driver").mkdir(parents=True)
    (tmp_path / "card/driver/x.json").write_text(json.dumps(document))
    with pytest.raises(BadInputError, match=r"schema_version: is .9.; expected is 1"):
        load_history(tmp_path)
