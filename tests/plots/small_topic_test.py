"""What a table of the report takes: a module of topics, and its words. Its name in docs/report.md,
which names_test.py holds the report against, is the third file."""

from pathlib import Path

from vramfit_plots import report, topics, words

TOPIC = """
from vramfit_plots.tables import Column, listing

_COLUMNS = (Column("model", str), Column("letters", len))


def build(inputs):
    return [listing("smallest", _COLUMNS, ["gpt2"], whose="a test")]
"""
WORDS = {"title": "The smallest table", "note": "Of {{ whose }}."}


def _added(monkeypatch, folder: Path) -> None:
    """The topic, and its words before those of the last."""
    (folder / "smallest.py").write_text(TOPIC)
    monkeypatch.setattr(topics, "__path__", [*topics.__path__, str(folder)])
    every = dict(words._words())
    last = every.pop("latency")
    monkeypatch.setattr(words, "_words", lambda: {**every, "smallest": WORDS, "latency": last})


def test_a_topic_and_its_words_are_a_chapter(monkeypatch, tmp_path, inputs):
    _added(monkeypatch, tmp_path)
    assert list(report.chapters())[-2:] == ["smallest", "latency"], "in the order of the words"
    (table,) = report.chapters()["smallest"].build(inputs)
    assert (table.title, table.note) == ("The smallest table", "Of a test.")
    assert table.rows == [["gpt2", "4"]]


def test_a_topic_without_words_is_none(monkeypatch, tmp_path):
    (tmp_path / "smallest.py").write_text(TOPIC)
    monkeypatch.setattr(topics, "__path__", [*topics.__path__, str(tmp_path)])
    assert "smallest" not in report.chapters()
