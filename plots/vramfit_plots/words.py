"""What is said about tables and pictures: words.json has their titles and notes, templates of
figures."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from vramfit_plots import units
from vramfit_plots.files import read_json

_FORMS = (
    units.batch,
    units.gb,
    units.gigabytes,
    units.in_words,
    units.number,
    units.percent,
    units.share,
)


@cache
def _words() -> dict[str, dict[str, str]]:
    return read_json(Path(__file__).with_suffix(".json"))


def in_order() -> Sequence[str]:
    """What words are for, in the report's order: tables, pictures and parts of their notes."""
    return list(_words())


@cache
def templates() -> jinja2.Environment:
    """Of plain text, which may write figures as the report does, and include other notes."""
    notes = {key: words["note"] for key, words in _words().items() if "note" in words}
    found = jinja2.Environment(
        loader=jinja2.DictLoader(notes), undefined=jinja2.StrictUndefined, autoescape=False
    )
    found.filters |= {form.__name__: form for form in _FORMS}
    return found


@cache
def _template(text: str) -> jinja2.Template:
    return templates().from_string(text)


def filled(text: str, figures: dict[str, Any]) -> str:
    """What a figure that says nothing leaves beside it is one space, none at the ends."""
    return re.sub(" +", " ", _template(text).render(figures)).strip(" ")


@cache
def _expression(text: str) -> Callable[..., Any]:
    return templates().compile_expression(text, undefined_to_none=False)


def computed(expression: str, figures: dict[str, Any]) -> Any:
    """Of a row of data, whether it holds or what it comes to."""
    return _expression(expression)(figures)


def note(key: str, part: str = "note", **figures: Any) -> str:
    """Below the table `key`, or below its "picture"."""
    return filled(_words()[key][part], figures)


def title_and_note(key: str, **figures: Any) -> tuple[str, str]:
    return note(key, "title", **figures), note(key, **figures)


def group(key: str) -> str:
    """The heading of the index that a topic's page is under."""
    return _words().get(key, {}).get("group", "More")
