"""What is told of other cards' overheads, as ranges: data/overheads.json is as messages tell."""

from league import ranges
from league.ranges import Report
from programs import ROOT, read_json
from vramfit_plots.catalogues import load_cards

MB = 10**6
CATALOGUE = read_json(ROOT / "data" / "gpus.json")["cards"]
CARDS = load_cards(ROOT / "data" / "gpus.json")


def test_the_file_is_what_messages_come_to():
    text = (ROOT / "data" / "overheads.json").read_text()
    made = ranges.spelt(ranges.document(CATALOGUE, CARDS))
    assert text == made, "`make league`, and take overheads.json"


def test_what_a_program_took_by_itself_is_set_aside():
    low, near, far = (Report("t4", "a", size * MB, (size + 10) * MB) for size in (100, 150, 400))
    other = Report("l4", "b", 900 * MB, 910 * MB)  # nothing less is told of that card
    assert ranges.set_aside([far, low, near, other]) == ([low, near, other], [far])


def test_one_report_alone_makes_no_range_of_a_cards_own():
    told = ranges.document(CATALOGUE, CARDS)
    alone, _ = ranges.set_aside(ranges.reports())
    for row in told["cards"]:
        for key, span in row.items():
            assert key == "name" or span["reports"] >= 2
    assert sum(report.card == "l4" for report in alone) == 1
    assert "l4" not in {row["name"] for row in told["cards"]}


def test_every_report_lies_in_its_range():
    told = ranges.document(CATALOGUE, CARDS)
    own = {row["name"]: row for row in told["cards"]}
    any_card = told["any"]["beside_a_multiprocessor"]
    count = {row["name"]: row["multiprocessors"]["value"] for row in CATALOGUE}
    alone, _ = ranges.set_aside(ranges.reports())
    assert len(alone) > 15
    for report in alone:
        beside = own.get(report.card, {}).get("beside")
        if beside:
            assert beside["least"] <= report.low <= report.high <= beside["most"]
        assert any_card["least"] * count[report.card] <= report.low
        assert report.high <= any_card["most"] * count[report.card]


def test_cases_are_one_report_of_their_sender():
    cases = [report for report in ranges.reports() if report.source == "vramfit"]
    assert [(one.card, one.low, one.high) for one in cases] == [
        ("h100-80gb", 804_061_184, 804_061_184)
    ]
