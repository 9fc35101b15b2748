"""Advice on several GPUs, and what else the page shows of them."""

from itertools import pairwise

import pytest
from page import START, advised, fit, opened, say, settled, state

_ASKED = "--model llama2-7b --train --precision bf16 --batch 4 --seq 2048 --gpu rtx4090 --advise"


def test_advice_on_several_gpus_sets_them(browser):
    """Each of fit's has a button after those for one GPU; the first gives what it promises."""
    promised = fit(*_ASKED.split())["on_several_gpus"]
    page = opened(browser, START)
    advised(page)
    ways = page.locator("#advice h3 ~ .ways .way")
    assert ways.count() == len(promised) > 1
    assert promised[0]["launch"] in ways.first.inner_text()
    ways.first.click()
    advised(page)
    assert state(page, "answer.total") == promised[0]["total"]
    assert say(page, "#verdict") == promised[0]["verdict"]
    assert page.locator("#f-gpus").input_value() == str(state(page, "answer.asked.gpus"))
    assert page.errors == []
    page.context.close()


def test_advice_is_shown_as_it_is_found(browser):
    """Lines come one after the other, and none goes again."""
    page = opened(browser, START)
    advised(page)
    page.evaluate(
        """() => {
          globalThis.seen = [];
          const look = () => seen.push([...document.querySelectorAll('#advice > .ways .what')]
            .map((line) => line.textContent));
          const advice = document.querySelector('#advice');
          new MutationObserver(look).observe(advice, { childList: true });
          vramfitPage.state.change({ ...vramfitPage.state.question, seq: '4096' });
        }"""
    )
    advised(page)
    seen = [set(lines) for lines in page.evaluate("seen")]
    assert len(seen) > 2
    assert all(fewer <= more for fewer, more in pairwise(seen))
    assert page.locator("#advice-wait").is_hidden()
    page.context.close()


def test_a_pipeline_is_a_choice_of_vramfits_own_step(browser):
    page = opened(browser, f"{START}&runtime=vramfit&gpus=4")
    page.locator("#f-strategy").select_option("pipeline")
    assert state(page, "answer.asked.strategy") == "pipeline"
    assert page.errors == []
    page.context.close()


@pytest.mark.parametrize("width", [360, 1600])
def test_the_explorer_alone_draws_without_errors(browser, width):
    page = opened(browser, f"explorer&{START}", viewport={"width": width, "height": 900})
    settled(page)
    assert page.locator("#curve > *").count() > 5
    assert page.errors == []
    page.context.close()
