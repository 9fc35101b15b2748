"""A browser for each process of tests."""

from collections.abc import Iterator

import pytest
from page import browser_path, opened, why_not
from playwright.sync_api import Browser, Page, sync_playwright


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if reason := why_not():
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path())
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """As it opens. A test that ends with an error in its console has failed."""
    page = opened(browser, viewport={"width": 1280, "height": 900})
    yield page
    assert page.errors == []
    page.context.close()
