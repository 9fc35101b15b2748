"""Every page of docs/ begins with what it is, in a line, and its links lead somewhere."""

import re

import pytest
from built import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    words = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", word).strip().replace(" ", "-") for word in words}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_it_begins_with_what_it_is(page):
    title, description, *_ = page.read_text().split("\n\n")
    assert re.fullmatch(r"# .+", title)
    assert re.fullmatch(r"[^\n]{30,130}\.", description)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=str)
def test_the_data_that_it_names_is_there(page):
    for path in re.findall(r"`(data/[\w./-]+)`", page.read_text()):
        assert "/NAME" in path or (ROOT / path).exists(), path


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=str)
def test_its_links_lead_somewhere(page):
    text = page.read_text()
    for target, anchor in LINK.findall(text):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text()), f"{target}#{anchor}"
