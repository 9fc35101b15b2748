"""The page in a real browser. What drives it: Playwright, with the machine's own Chromium."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import built
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "build/site"
START = "model=llama2-7b&train&precision=bf16&batch=4&seq=2048&gpu=rtx4090"
#: What the page opens with, as fit's flags.
OPENS = "--model llama3.1-8b --train --lora 16 --precision bf16 --batch 2 --seq 1024 --gpu rtx4090"
LORA = "model=llama2-7b&train&precision=bf16&batch=4&seq=1024&lora=16&checkpoint=full&gpu=rtx4090"
#: Each option of each select, one after the other: {refused, tried}.
EVERY_OPTION = """async () => {
  const { state } = vramfitPage;
  const start = state.question;
  const refused = [];
  const tick = () => new Promise((resolve) => setTimeout(resolve, 5));
  const selects = [...document.querySelectorAll('#controls select[id^=f-]')]
    .filter((select) => select.offsetParent);
  const every = selects
    .flatMap((select) => [...select.options].map(({ value }) => [select, value]));
  for (const [select, value] of every) {
    select.value = value;
    select.dispatchEvent(new Event('change'));
    while (document.querySelector('#calculator').hasAttribute('aria-busy')) await tick();
    const said = document.querySelector('#reason').textContent;
    if (!state.answer) refused.push(`${select.id}=${value}: ${said}`);
    state.change(start);
    while (document.querySelector('#calculator').hasAttribute('aria-busy')) await tick();
  }
  return { refused, tried: every.length };
}"""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser_path() -> str | None:
    """CHROMIUM in the environment, or the first that the machine has."""
    found = (shutil.which(name) for name in _BROWSERS)
    return os.environ.get("CHROMIUM") or next(filter(None, found), None)


def why_not() -> str | None:
    """What is missing to drive the page, if anything is."""
    if not (SITE / "index.html").exists():
        return "build/site/index.html is not built: `make page` does, with Emscripten and esbuild"
    if browser_path() is None:
        return f"no browser: none of {', '.join(_BROWSERS)} is installed; CHROMIUM names another"
    return None


def address(question: str = "", *, site: Path = SITE) -> str:
    return f"{(site / 'index.html').as_uri()}{'#' + question if question else ''}"


def fit(*arguments: str) -> dict[str, Any]:
    """What `vramfit --json` answers."""
    run = subprocess.run(
        [built.program("fit"), *arguments, "--json"], capture_output=True, check=False, text=True
    )
    return json.loads(run.stdout)


def link(**question: Any) -> str:
    """A question as links have it; underscores stand for '-'."""
    named = {
        key.replace("_", "-"): "" if value is True else value for key, value in question.items()
    }
    return urlencode(named)


def until(page: Page, condition: str, seconds: float = 60) -> Any:
    """Playwright's own waiting evaluates strings in the page, which its policy forbids."""
    for _ in range(int(seconds * 20)):
        if value := page.evaluate(condition):
            return value
        page.wait_for_timeout(50)
    raise AssertionError(f"not within {seconds} s: {condition}")


def opened(browser: Browser, question: str = "", *, site: Path = SITE, **context: Any) -> Page:
    """A page that has answered, in a context of its own. What it logs as an error is kept."""
    page = browser.new_context(**context).new_page()
    page.errors = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda line: line.type == "error" and page.errors.append(line.text))
    page.goto(address(question, site=site))
    until(page, "Boolean(globalThis.vramfitPage)")
    return page


def ask(page: Page, question: str) -> None:
    """Another question of a page that is open already, and the page as it opens with that."""
    page.evaluate(
        """(question) => {
          document.activeElement.blur();
          document.querySelector('#explorer details').open = false;
          scrollTo(0, 0);
          vramfitPage.state.cost = 0;
          location.hash = question;
          dispatchEvent(new HashChangeEvent('hashchange'));
        }""",
        question,
    )


def linked(page: Page) -> None:
    """Its address has the question, and the worker knows of it."""
    until(page, "vramfitPage.state.settled === vramfitPage.state.asked")


def advised(page: Page) -> None:
    """The worker has told formulas and advice, which come first."""
    linked(page)
    until(page, "document.querySelector('#advice-wait').hidden")


def settled(page: Page) -> None:
    """All that the worker has to say is there: seconds later, for searches on every card."""
    linked(page)
    until(page, "vramfitPage.background.idle")


def answered(page: Page) -> None:
    """No answer is awaited; one that takes longer than a frame comes from the worker."""
    until(page, "!document.querySelector('#calculator').hasAttribute('aria-busy')")


def say(page: Page, selector: str) -> str:
    answered(page)
    return page.locator(selector).inner_text().strip()


def asked_of_page(page: Page, flags: dict[str, Any]) -> dict[str, Any]:
    """{text} or {error, bad}: what the estimator within the page answers."""
    return page.evaluate(
        """(flags) => {
          try { return { text: vramfitPage.vramfit.json(flags) }; }
          catch (error) { return { error: error.message, bad: error.name === 'BadInput' }; }
        }""",
        flags,
    )


def state(page: Page, key: str = "question") -> Any:
    answered(page)
    return page.evaluate(f"vramfitPage.state.{key}")
