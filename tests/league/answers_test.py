"""All rows that can be asked are: none is further off than it was, and each error of a per cent
has its cause, or is said to have none that is known."""

import pytest
from league import contradictions, overheads, ranges, table
from league.asking import Said, ask
from league.rows import AT_MOST, Row, asked, every_row, words
from league.scores import Score, answers, kept, scores, worse
from programs import ROOT, read_json
from vramfit_plots.catalogues import load_cards
from vramfit_plots.tables import markdown_fragment

GB = 10**9
CATALOGUE = read_json(ROOT / "data" / "gpus.json")["cards"]


@pytest.fixture(scope="module")
def found() -> list[Score]:
    rows = asked(every_row())
    return scores(rows, ask(rows)[0])


def test_every_question_has_an_answer(found):
    assert [f"{score.row.id}: {score.said.refused}" for score in found if score.said.refused] == []


def test_none_is_further_off_than_it_was(found):
    assert worse(kept(), found) == []


def test_what_is_kept_is_of_these_rows(found):
    """A better answer, or another row, is kept anew: `make league`, and take answers.jsonl."""
    assert {line["key"]: line["miss"] for line in answers(found)} == kept()


def test_an_error_of_a_per_cent_has_a_cause(found):
    assert [
        score.row.id
        for score in found
        if not score.holds
        and not score.row.cause
        and (score.is_verdict or abs(score.error) >= 0.01)
    ] == []


def test_the_page_has_these_tables(found):
    shown = (ROOT / "docs" / "league.md").read_text()
    cards = load_cards(ROOT / "data" / "gpus.json")
    titles = {name: cards[name].title for name in cards}
    rows = every_row()
    for built in (
        table.by_source(found, titles),
        table.by_figure(found),
        table.causes(found, words()),
        table.unasked(rows, words()),
        overheads.drivers(cards),
        ranges.table(cards, CATALOGUE),
        overheads.beside_allocator(overheads.cases()),
    ):
        assert markdown_fragment(built).strip() in shown, "`make league`, and take league.md"
    for line in contradictions.every(rows, found, cards):
        assert f"- {line}\n" in shown


def row(name: str = "a/1", measured: int | None = 10 * GB, **more) -> Row:
    told = {"model": "m", "seq": 512} | more.pop("told", {})
    given = {"metric": "peak", "rounding": GB // 100, "question": {}, "figure": "allocated"}
    head = (name, "s", "p", "inference", "RTX", None, 1, told)
    return Row(*head, measured=measured, **{**given, **more})


def score(predicted: int | None, of: Row, verdict: str = "FITS") -> Score:
    return Score(of, Said(predicted, verdict, "" if predicted else "no"))


def test_a_point_misses_either_way_and_a_bound_below_alone():
    assert score(12 * GB, row()).miss == score(8 * GB, row()).miss == 2 * GB
    assert score(12 * GB, row(bound=AT_MOST)).miss == 0
    assert score(8 * GB, row(bound=AT_MOST)).miss == 2 * GB


def test_what_is_equal_in_every_digit_that_was_told_holds():
    assert score(10 * GB + GB // 100, row()).as_told
    assert not score(10 * GB + GB // 50, row()).holds


def test_a_verdict_is_wrong_where_it_fits_beyond_doubt():
    ran_out = row(measured=None, outcome="OOM", figure="verdict", rounding=0)
    assert not score(GB, ran_out).holds
    assert score(GB, ran_out, "TIGHT").holds
    assert score(GB, ran_out, "OOM").holds


def test_what_got_worse_is_named_and_what_is_new_is_not():
    near, far = score(10 * GB + 1, row()), score(11 * GB, row())
    before = {line["key"]: line["miss"] for line in answers([near])}
    assert worse(before, [near]) == worse({}, [far]) == []
    (line,) = worse(before, [far])
    assert line == "a/1 allocated: off by 1,000,000,000 bytes, was 1"
    assert worse(before, [score(None, row(), "")]) == ["a/1 allocated: no"]


def test_longer_that_takes_less_is_a_contradiction():
    short, long = row(told={"seq": 512}), row("a/2", 9 * GB, told={"seq": 1024})
    (line,) = contradictions.longer_takes_less([short, long])
    assert line == "a/1 and a/2: m at seq 1,024 takes 9.00 GB, at 512 10.00"
    assert not list(contradictions.longer_takes_less([row("a/1", 9 * GB), row("a/2", 10 * GB)]))


def test_two_figures_of_one_run_are_a_contradiction():
    (line,) = contradictions.told_twice([row(), row("a/2", 11 * GB)])
    assert line == "a/1 and a/2: m, told alike, takes 10.00 and 11.00 GB"
    assert not list(contradictions.told_twice([row(), row("a/2", 10 * GB + GB // 100)]))


def test_less_than_nothing_and_more_than_a_card_are_impossible():
    cards = load_cards(ROOT / "data" / "gpus.json")
    told = list(contradictions.impossible([row(measured=-GB), row("a/2", 900 * GB)], cards))
    assert told == ["a/1: m takes -1.00 GB (peak)"]  # whose card nobody knows has any size
    big = Row(
        "a/3", "s", "p", "inference", "H100", "h100-80gb", 1, {"model": "m"}, "peak", 90 * GB, 0
    )
    assert list(contradictions.impossible([big], cards)) == ["a/3: 90.00 GB on H100"]


def test_what_a_driver_keeps_is_a_range_with_its_roundings():
    cards = load_cards(ROOT / "data" / "gpus.json")
    found = {kept.card: kept for kept in overheads.kept_by_drivers(cards)}
    assert all(0 < kept.low <= kept.high < GB for kept in found.values())
    measured = cards["h100-80gb"].vram - 85_017_493_504  # CUDA's total, of the cases
    assert found["h100-80gb"].low <= measured <= found["h100-80gb"].high
    assert found["rtx4090"].listings == 7
