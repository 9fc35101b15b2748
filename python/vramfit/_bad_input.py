"""Refusals."""

from __future__ import annotations

from vramfit._core import BadInput


def printable(text: str) -> str:
    """What a user wrote as part of one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def bad_input(line: str) -> BadInput:
    """The error with that line, made printable."""
    return BadInput(printable(line))
