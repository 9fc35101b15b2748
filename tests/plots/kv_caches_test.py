"""The KV cache by kind: what it takes, and what unequal prompts leave unfilled."""

import dataclasses

import pytest
from vramfit_plots.files import AbsentError
from vramfit_plots.sources import MEASURED, PREDICTED
from vramfit_plots.topics import kv_caches
from vramfit_plots.topics.kv_caches import PLAIN, load_kv_caches


def test_every_kind_of_the_shortest_context_is_a_row(inputs):
    (table,) = kv_caches.build(inputs)
    found = load_kv_caches(inputs)
    assert len(table.rows) == len(found.of_shortest())
    assert {row[0] for row in table.rows} == {PLAIN, "fp8", "int8"}
    assert {row[1] for row in table.rows} == {"one a sequence", "of 16", "of 256"}
    for row in table.rows:
        unfilled = row[1] == "one a sequence" and row[2] == "unequal"
        assert row[-1].startswith("50" if unfilled else "0"), row


def test_what_was_measured_is_preferred(inputs, measured):
    assert load_kv_caches(inputs).source is PREDICTED
    assert load_kv_caches(measured).source is MEASURED


def test_the_picture_has_lines_and_bars(measured):
    picture = kv_caches.draw(measured)
    left, right = picture.figure.axes
    found = load_kv_caches(measured)
    each = next(c.bytes_per_token for c in found.every if c.stored_in == PLAIN)
    line = left.lines[0]
    assert line.get_ydata()[1] == each * line.get_xdata()[1] / 1e9
    assert [text.get_text()[:2] for text in right.texts][:2] == ["50", "0\N{NO-BREAK SPACE}"]
    assert "524,288" not in picture.title, "what the run has, not what is known"


def test_one_kind_alone_is_not_drawn(measured):
    kept = measured.run.rows[measured.run.rows.index.str.endswith("/cache:int8")]
    some = dataclasses.replace(measured, run=dataclasses.replace(measured.run, rows=kept))
    assert kv_caches.build(some)
    with pytest.raises(AbsentError, match="unequal"):
        kv_caches.draw(some)


def test_without_such_rows_there_is_no_table(measured):
    rows = measured.run.rows[~measured.run.rows.index.str.startswith("KvCache/")]
    without = dataclasses.replace(measured, run=dataclasses.replace(measured.run, rows=rows))
    with pytest.raises(AbsentError, match="KvCache"):
        kv_caches.build(without)
