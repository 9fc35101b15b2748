"""How soon the page answers. `python tests/web/speed_test.py` prints the figures; the test allows
for a machine that is busy with other tests."""

import statistics
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = map(str, Path(__file__).resolve().parents[:2])  # as pytest is told

from page import browser_path, opened, settled
from playwright.sync_api import Browser, sync_playwright

FIRST = 1000  # ms from a cold start to the first answer
EVENT = 8  # ms from a slider's event to the page that it made, at the median
FRAME = 33  # ms to the next frame, of 99 in 100
SOME_ADVICE = 1000  # ms from the first answer to the first line of advice
ALL_ADVICE = 3000  # and to the last
BUSY = 6  # times as long, where tests run beside it

_DRAG = """async (count) => {
  const slider = document.querySelector('#s-batch');
  const times = { event: [], frame: [] };
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  for (let i = 0; i < count; ++i) {
    await frame();
    slider.value = String((Number(slider.value) + 1) % 16);
    const began = performance.now();
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    times.event.push(performance.now() - began);
    await frame();
    times.frame.push(performance.now() - began);
  }
  return times;
}"""


def first(browser: Browser) -> float:
    """Of a page in a context that has nothing cached."""
    page = opened(browser, viewport={"width": 1280, "height": 900})
    ready = float(page.evaluate("document.documentElement.dataset.ready"))
    page.context.close()
    return ready


def drag(
    browser: Browser, question: str = "", count: int = 300, warm: int = 120
) -> dict[str, float]:
    """Dragging a slider, once the page is warm."""
    page = opened(browser, question, viewport={"width": 1280, "height": 900})
    settled(page)
    page.evaluate(_DRAG, warm)
    times = page.evaluate(_DRAG, count)
    page.context.close()
    return {
        "event": statistics.median(times["event"]),
        "frame": statistics.quantiles(times["frame"], n=100)[-1],
    }


_ADVICE = """() => new Promise((resolve) => {
  const advice = document.querySelector('#advice');
  const ready = Number(document.documentElement.dataset.ready);
  const found = {};
  const look = () => {
    if (advice.querySelector('.way')) found.some ??= performance.now() - ready;
    if (advice.children.length && !advice.hasAttribute('aria-busy')) {
      resolve({ ...found, all: performance.now() - ready });
    }
  };
  new MutationObserver(look).observe(advice, { childList: true, attributes: true });
  look();
})"""


def advice(browser: Browser, question: str = "") -> dict[str, float]:
    """Of a page as it opens."""
    page = opened(browser, question, viewport={"width": 1280, "height": 900})
    found: dict[str, float] = page.evaluate(_ADVICE)
    page.context.close()
    return found


def test_it_answers_soon(browser):
    assert first(browser) < FIRST * BUSY
    found = advice(browser)
    assert found["some"] < SOME_ADVICE * BUSY
    assert found["all"] < ALL_ADVICE * BUSY
    # Tests beside this one may have all cores for a while.
    dragged = (drag(browser, count=60, warm=60) for _ in range(3))
    soon = (f["event"] < EVENT * BUSY and f["frame"] < FRAME * BUSY for f in dragged)
    assert any(soon)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        for _ in range(3):
            began = time.perf_counter()
            chromium = playwright.chromium.launch(executable_path=browser_path())
            launched = time.perf_counter()
            print(f"browser {1000 * (launched - began):.0f} ms, then {first(chromium):.0f} ms")
            for question in (
                "",
                "model=llama2-7b&train&precision=bf16&batch=4&seq=2048&gpu=rtx4090",
            ):
                found = {**advice(chromium, question), **drag(chromium, question)}
                print({name: round(ms, 1) for name, ms in found.items()})
            chromium.close()
