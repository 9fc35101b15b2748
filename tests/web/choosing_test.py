"""How a model is found on the page."""

import pytest
from page import say, state


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("qwen3 8b", "qwen3-8b"),
        ("Llama 3.1", "llama3.1-8b"),
        ("Qwen/Qwen3-4B", "qwen3-4b"),
        ("gemma3", "gemma3-270m"),
    ],
)
def test_models_are_found_by_what_is_typed(page, typed, first):
    before = page.locator("#model option").count()
    page.locator("#model-find").fill(typed)
    shown = page.locator("#model optgroup:not([label=Another]) option")
    assert shown.first.get_attribute("value") == first
    assert shown.count() < before / 3
    assert say(page, "#model-note").startswith(f"{shown.count()} of that name")
    page.keyboard.press("Enter")
    assert state(page)["model"] == first
    assert page.locator("#model").input_value() == first
    assert page.locator("#model-find").input_value() == ""
    assert page.locator("#model option").count() == before
    assert page.locator("#model").get_attribute("size") == "1"


def test_what_is_not_found_is_an_id_of_the_hub(page):
    page.locator("#model-find").fill("someone/strange-1b")
    assert say(page, "#model-note").startswith("none of that name")
    page.keyboard.press("Enter")
    assert page.locator("#hub-id").input_value() == "someone/strange-1b"
    assert page.locator("#hub-id").is_visible()


def test_models_are_listed_by_family_and_size(page):
    groups = page.evaluate(
        "[...document.querySelectorAll('#model optgroup')].map((group) => "
        "[group.label, [...group.children].map(({ value }) => value)])"
    )
    assert groups[0] == ["Another", ["params:", "hub:", "config:"]]
    shipped = dict(groups)
    gemma3 = [name for name in shipped["gemma"] if name.startswith("gemma3")]
    assert gemma3 == ["gemma3-270m", "gemma3-1b", "gemma3-4b", "gemma3-12b", "gemma3-27b"]
    assert all(name.startswith("qwen") for name in shipped["qwen"])
    assert {"tinyllama-1.1b", "devstral-small-24b"} <= set(shipped["others"])
    named = [name for _, names in groups for name in names]
    assert len(named) == len(set(named))
