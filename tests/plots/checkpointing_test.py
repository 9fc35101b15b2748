"""What checkpointing saves and costs, ours and PyTorch's."""

import dataclasses

import pytest
import synthetic
from vramfit_plots.files import AbsentError
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH_MEASURED
from vramfit_plots.topics import checkpointing
from vramfit_plots.topics.checkpointing import load_pairs, of_article, plain_row
from vramfit_plots.topics.claims import answer
from vramfit_plots.units import MISSING

CASE = "Training/llama2-7b/bf16/adamw-same/batch:4/seq:2048"
WORDS = "llama2-7b bf16 adamw-same\n4 \N{MULTIPLICATION SIGN} 2,048 tokens"
WAYS = {"none", "selective", "full"} | {
    f"{kind}, 1 block of {k}" for kind in ("selective", "full") for k in (2, 4)
}


def pairs(inputs, source, case=CASE):
    return {p.forward.way: p for p in load_pairs(inputs)[case] if p.forward.source is source}


def without(inputs, *counters):
    return dataclasses.replace(inputs, rows=inputs.rows.drop(columns=list(counters)))


def test_a_row_without_checkpointing_is_found_whatever_else_it_has():
    assert plain_row(f"{CASE}/checkpoint:full/every:2") == CASE
    assert plain_row(f"{CASE}/lora:16/checkpoint:full") == f"{CASE}/lora:16"
    assert plain_row(CASE) == CASE


def test_every_way_is_held_against_none(measured):
    ours = pairs(measured, MEASURED)
    assert ours.keys() == WAYS
    kept = synthetic.PER_TOKEN * 4 * 2048
    full = ours["full"]
    assert full.forward.kept == pytest.approx(kept / synthetic.LESS_KEPT["full"])
    assert full.kept == pytest.approx(1 / synthetic.LESS_KEPT["full"])
    speed = synthetic.TOKENS_PER_SECOND
    assert full.time == pytest.approx(speed["none"] / speed["full"] - 1)
    assert full.peak == full.forward.allocated / full.plain.allocated < 1
    assert (ours["none"].kept, ours["none"].time) == (1, 0)


def test_pytorchs_pairs_are_those_of_the_reference(inputs):
    theirs = pairs(inputs, TORCH_MEASURED)
    assert theirs.keys() == {"none", "full"}
    assert 1 / theirs["full"].kept == pytest.approx(12.6, abs=0.05)
    assert theirs["full"].time == pytest.approx(0.25, abs=0.01)
    lora = pairs(inputs, TORCH_MEASURED, "Training/llama2-7b/bf16/adamw/batch:4/seq:512/lora:16")
    assert lora["full"].time == pytest.approx(0.43, abs=0.01)


def test_with_and_without_are_of_one_source(measured):
    """Where the case without was not measured, both are as predicted."""
    rows = measured.rows.copy()
    rows.loc[CASE, "mem_allocated"] = float("nan")
    found = load_pairs(dataclasses.replace(measured, rows=rows))[CASE]
    ours = [pair for pair in found if pair.forward.source in {MEASURED, PREDICTED}]
    assert {pair.forward.source for pair in ours} == {PREDICTED}
    assert {pair.plain.source for pair in ours} == {PREDICTED}


def test_the_table_says_what_is_saved_and_paid(measured):
    (table,) = checkpointing.build(measured)
    by_head = {tuple(row[:3]): row[3:] for row in table.rows}
    kept, less, _, _, peak, time = by_head[WORDS, "full", MEASURED.heading]
    assert (kept, less, time) == ("2.05", "12.0", "+25\N{NO-BREAK SPACE}%")
    assert peak.startswith("\N{MINUS SIGN}")
    assert by_head[WORDS, "none", MEASURED.heading][1] == MISSING
    # Of what PyTorch's peak is made of only predictions tell.
    at_peak = by_head[WORDS, "full", TORCH_MEASURED.heading][2]
    assert at_peak.endswith("†")
    assert "† PyTorch predicted." in table.note


def test_a_row_of_checkpointing_alone_is_no_pair(measured):
    rows = measured.rows.drop(index=CASE)
    found = load_pairs(dataclasses.replace(measured, rows=rows))
    assert CASE not in found
    with pytest.raises(AbsentError, match="batch:4"):
        of_article(dataclasses.replace(measured, rows=rows), found)


def test_the_picture_has_a_point_for_each_way(measured):
    picture = checkpointing.draw(measured)
    left, right = picture.figure.axes
    for axes in (left, right):
        said = {text.get_text() for text in axes.texts}
        assert said == {way.replace("1 block of ", "1 of ") for way in WAYS}
    dots = [line for line in left.lines if line.get_marker() == "o"]
    places = {
        (round(x, 1), round(y, 1)) for d in dots for x, y in [(*d.get_xdata(), *d.get_ydata())]
    }
    assert (25.0, round(100 / synthetic.LESS_KEPT["full"], 1)) in places
    assert (0.0, 100.0) in places
    assert "12.0 times less in vramfit" in picture.title


def test_the_articles_claim_is_drawn_where_it_says(measured):
    left = checkpointing.draw(measured).figure.axes[0]
    (box,) = left.patches
    assert box.get_x() + box.get_width() / 2 == pytest.approx(30)
    assert (box.get_y(), box.get_y() + box.get_height()) == pytest.approx((10, 20))


def test_without_times_there_is_no_picture_but_a_table(measured):
    untimed = without(measured, "tokens_per_second", "pytorch_measured_tokens_per_second")
    with pytest.raises(AbsentError, match="tokens_per_second"):
        checkpointing.draw(untimed)
    (table,) = checkpointing.build(untimed)
    assert {row[-1] for row in table.rows} == {MISSING}


def test_the_claims_time_is_judged_by_vramfits_too(inputs, measured):
    claim = measured.article.claim("checkpointing_time")
    found = answer(measured, claim)
    assert found.figures[MEASURED] == "25\N{NO-BREAK SPACE}% more"
    assert found.verdict.startswith("Holds: within 10")
    assert MEASURED not in answer(inputs, claim).figures


def test_the_claims_memory_is_told_beside_what_the_peak_falls_by(measured):
    verdict = answer(measured, measured.article.claim("checkpointing_memory")).verdict
    assert verdict.startswith("Does not hold: it saves more")
    assert "the peak of all steps falls less, vramfit's from" in verdict
    assert "PyTorch's from 93.3 to" in verdict
