"""The batch size explorer."""

import re

from page import LORA, ask, fit, say, settled, state, until

WALKED = "document.querySelector('#play').textContent === 'Animate'"


def test_the_walk_ends_in_the_cliff(page):
    ask(page, LORA)
    settled(page)
    flags = "--model llama2-7b --train --precision bf16 --seq 1024 --lora 16 --checkpoint full"
    largest = fit(*flags.split(), "--gpu", "rtx4090", "--max-batch")["max_batch"]
    page.locator("#step").click()
    assert say(page, "#walk-says").startswith("Batch 1: FITS")
    page.locator("#play").click()
    page.wait_for_timeout(700)
    page.locator("#play").click()  # pauses
    paused = say(page, "#walk-says")
    page.wait_for_timeout(700)
    assert say(page, "#walk-says") == paused
    page.locator("#play").click()
    until(
        page,
        "document.querySelector('#walk-says').className === 'oom'"
        " && document.querySelector('#play').textContent === 'Animate'",
    )
    ended = say(page, "#walk-says")
    size = int(re.match(r"Batch (\d+)", ended)[1])
    assert size == largest + 1
    assert "GB more than the RTX 4090's 25.76 GB" in ended
    page.locator("#use-size").click()
    assert state(page)["batch"] == str(largest)
    assert state(page, "answer.fits")


def test_the_legend_names_what_the_curve_is_made_of(page):
    settled(page)
    named = page.locator("#curve-legend li").all_inner_texts()
    assert named[0] == "parameters"
    assert "gradients" in named, "of some size, though not of all"
    assert "KV cache" not in named


def test_nothing_stays_of_a_curve_where_the_next_is_refused(fresh):
    page = fresh
    settled(page)
    curve = page.locator("#curve")
    assert "Memory in GB by sequences in a batch: " in curve.get_attribute("aria-label")
    page.evaluate("vramfitPage.explorer.refused('No answer')")
    assert curve.get_attribute("aria-label") == "Memory against size"
    assert page.locator("#curve > *, #curve-legend > *").count() == 0


def test_where_nothing_fits_the_walk_is_along_the_whole_curve(fresh):
    """The opening question is one of these."""
    page = fresh
    settled(page)
    assert say(page, "#walk-says").startswith("No batch fits.")
    page.locator("#play").click()
    page.wait_for_timeout(700)
    assert page.locator("#play").inner_text() == "Pause"
    until(page, WALKED)
    last = page.evaluate("vramfitPage.explorer.points.at(-1).size")
    assert last > 4
    assert say(page, "#walk-says").startswith(f"Batch {last}: OOM")
    assert page.locator("#use-size").is_disabled()
    assert say(page, "#use-size") == "Use it"


def test_the_largest_of_every_card(page):
    ask(page, LORA)
    settled(page)
    page.locator("#explorer summary").click()
    rows = page.locator("#largest tr").all_inner_texts()
    flags = "--model llama2-7b --train --precision bf16 --seq 1024 --lora 16 --checkpoint full"
    found = {card["gpu"]["name"]: card for card in fit(*flags.split(), "--max-batch")["cards"]}
    h200 = next(row for row in rows if "H200" in row.split("\t")[1].split(", "))
    gib = round(found["h200"]["vram"] / 2**30)
    alike = [card for card in found.values() if round(card["vram"] / 2**30) == gib]
    for column, key in ((-1, "max_batch"), (-2, "largest_surely")):
        ends = sorted({f(card[key] for card in alike) for f in (min, max)})
        assert h200.split("\t")[column] == " \N{EN DASH} ".join(f"{end:,}" for end in ends)
    assert page.locator("#largest tr.mine").count() == 1


def test_memory_against_the_sequence(page):
    ask(page, LORA)
    page.get_by_label("sequence", exact=True).check()
    until(
        page,
        "vramfitPage.explorer.axis === 'seq' && vramfitPage.explorer.points.length > 10"
        " && vramfitPage.explorer.points[0].size === 128",
    )
    assert "tokens in a sequence" in page.locator("#curve").text_content()
    sizes = page.evaluate("vramfitPage.explorer.points.map(({ size }) => size)")
    assert sizes == sorted(sizes) and sizes[0] == 128 and len(sizes) > 10
    one = page.evaluate("vramfitPage.explorer.points[3]")
    flags = "--model llama2-7b --train --precision bf16 --batch 4 --lora 16 --checkpoint full"
    expected = fit(*flags.split(), "--gpu", "rtx4090", "--seq", str(one["size"]))
    assert one["answer"]["total"] == expected["total"]
