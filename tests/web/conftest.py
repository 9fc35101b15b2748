"""A browser for each process of tests."""

from collections.abc import Iterator

import pytest
from page import START, ask, browser_path, opened, why_not
from playwright.sync_api import Browser, Page, sync_playwright


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if reason := why_not():
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path())
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def _page(browser: Browser) -> Iterator[Page]:
    page = opened(browser, viewport={"width": 1280, "height": 900})
    yield page
    page.context.close()


@pytest.fixture
def page(_page: Page) -> Iterator[Page]:
    """One page for all tests, back at the question that it opens with: what it answered once it
    knows, and that is most of what a test takes. A test that ends with an error in its console has
    failed."""
    _page.errors.clear()
    ask(_page, START)
    yield _page
    assert _page.errors == []


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Page]:
    """As it opens, of nobody's use before."""
    page = opened(browser, viewport={"width": 1280, "height": 900})
    yield page
    assert page.errors == []
    page.context.close()
