"""Arguments of transformers' Trainer, and of those that derive from it, as they are made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from vramfit.standin._imports import when_imported

#: Takes the line that the user would write, each time that a change was made.
Note = Callable[[str], None]
#: Arguments by name in place of those that are given; empty: nothing to change.
Arguments = dict[str, Any]


def in_arguments(change: Callable[[Any], Arguments], note: Note) -> None:
    """Has TrainingArguments changed as they are made, before they are looked at."""

    def attend(module: Any) -> None:
        post_init = module.TrainingArguments.__post_init__

        @functools.wraps(post_init)
        def changed(arguments: Any) -> None:
            others = change(arguments)
            for name, value in others.items():
                setattr(arguments, name, value)
            if others:
                shown = ", ".join(f"{name}={_quoted(value)}" for name, value in others.items())
                note(f"{type(arguments).__name__}({shown})")
            post_init(arguments)

        module.TrainingArguments.__post_init__ = changed

    when_imported("transformers.training_args", attend)


def turned_on(name: str) -> Callable[[Any], Arguments]:
    """One that is True, where it is not."""
    return lambda arguments: {} if getattr(arguments, name, True) else {name: True}


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
