"""The report and the docs as they look: in a browser, on a phone and a desktop, dark and light."""

import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import ROOT
from matplotlib.image import imread

pytest.importorskip("playwright")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(ROOT / "tests/web"))
from page import browser_path

# The narrowest, and one that is as wide as pages get.
PHONE, DESKTOP = 360, 1400
SCREENS = {PHONE: "dark", DESKTOP: "light"}
# What a page's width does not hold: tables and pictures may be moved within a frame of their own.
_BEYOND = """() => [...document.querySelectorAll('body *')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => !one.parentElement.closest('.scroll, pre, table'))
  .filter((one) => !one.matches('.scroll > *'))
  .map((one) => one.outerHTML.slice(0, 80))"""
_MOVED = """() => [...document.querySelectorAll('.scroll')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.getAttribute('aria-label') || one.querySelector('img').alt.slice(0, 60))"""
_BROKEN = "() => [...document.images].filter((one) => !one.naturalWidth).map((one) => one.src)"


def _site():
    """web/site.py, whose name Python has itself."""
    spec = importlib.util.spec_from_file_location("site_of_docs", ROOT / "web" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if browser_path() is None:
        pytest.skip("no browser is installed; CHROMIUM names one")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=browser_path())
        yield found
        found.close()


def opened(browser: Browser, folder: Path) -> Iterator[tuple[int, Page]]:
    """Every page on every screen."""
    page = browser.new_page()
    for width, scheme in SCREENS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for path in sorted(folder.glob("*.html")):
            page.goto(path.as_uri())
            yield width, page
    page.close()


def check(width: int, page: Page) -> None:
    where = f"{page.url} at {width}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, where
    assert page.evaluate(_BEYOND) == [], where
    assert page.evaluate(_BROKEN) == [], where
    if width == PHONE or page.url.endswith(("/index.html", "/tutorial.html")):
        found = Axe().run(page).response["violations"]
        said = [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]
        assert said == [], where


def test_the_reports_pages(browser, full):
    for width, page in opened(browser, full):
        check(width, page)
        if width == DESKTOP:
            assert page.evaluate(_MOVED) == [], f"{page.url}: all is seen at {width}"


def test_the_docs_pages(browser, tmp_path):
    _site().docs(tmp_path)
    for width, page in opened(browser, tmp_path / "docs"):
        check(width, page)


def test_the_articles_tables_are_whole_on_a_phone(browser, full):
    page = browser.new_page(viewport={"width": PHONE, "height": 800})
    page.goto((full / "index.html").as_uri())
    tables = page.evaluate(_MOVED.replace("'.scroll'", "'.three .scroll'"))
    page.close()
    assert tables == []


def test_a_picture_is_dark_on_a_dark_screen(browser, full):
    """In a page's <img>, where nothing of the page reaches it."""
    brightness = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto((full / "checkpointing.html").as_uri())
        pixels = imread(io.BytesIO(page.locator("img").first.screenshot()))
        brightness[scheme] = float(pixels[..., :3].mean())
        page.close()
    assert brightness["light"] > 0.8
    assert brightness["dark"] < 0.3
