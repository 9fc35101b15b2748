"""Reading and writing files, and where the project's data lies. Needs Python alone.

What cannot be read, or is no JSON of ours whatever it describes, is refused here."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

_DEPTH = 50  # of objects and lists in each other; ours have 8
# No measure of anything is beyond these, and what is computed from such numbers stays finite.
_SMALLEST, _LARGEST = 1e-21, 1e21
# Neither print nor fit a line: control characters, and halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

T = TypeVar("T")


class BadInputError(Exception):
    """One line that names the file and what is wrong with it."""


class AbsentError(LookupError):
    """A row or counter that this run does not hold: what needs it is left out, and said so."""


class Catalogue(dict[str, T]):
    """Entries by name; one that is asked for and missing is bad input, and the file is named."""

    def __init__(self, path: Path, entries: Mapping[str, T]):
        super().__init__(entries)
        self._path = path

    def __missing__(self, name: str) -> T:
        raise BadInputError(f"{self._path}: no '{name}'")


def data_dir() -> Path:
    """$VRAMFIT_DATA, as for the other programs; otherwise the checkout's."""
    if given := os.environ.get("VRAMFIT_DATA"):
        return Path(given)
    return Path(__file__).resolve().parents[2] / "data"


def read_text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # a FIFO would be waited for
            raise BadInputError(f"{path}: not a file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{path}: not a text in UTF-8") from None


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _complaint(value: Any) -> str:
    """What makes a text or a number unfit to be shown; "" where nothing does."""
    if isinstance(value, str) and (found := _UNPRINTABLE.search(value)):
        return f"a text holds the character U+{ord(found[0]):04X}"
    if isinstance(value, (int, float)) and value and not _SMALLEST <= abs(value) <= _LARGEST:
        return f"a number is beyond {_LARGEST:g} or below {_SMALLEST:g}"
    return ""


def _check_values(document: Any, where: str) -> None:
    level = [document]
    for _ in range(_DEPTH):
        for value in level:
            if complaint := _complaint(value):
                raise BadInputError(f"{where}: {complaint}")
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise BadInputError(f"{where}: more than {_DEPTH} objects and lists within each other")


def parse_json(text: str, where: str) -> Any:
    """NaN and Infinity, which JSON does not have, are null."""
    try:
        value = json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise BadInputError(f"{where}: not JSON: {error}") from None
    except RecursionError:
        raise BadInputError(f"{where}: not JSON that can be read: too deep") from None
    except ValueError:  # Python's limit on the digits of an integer
        raise BadInputError(f"{where}: not JSON that can be read: a number is too long") from None
    _check_values(value, where)
    return value


def read_json(path: Path) -> Any:
    return parse_json(read_text(path), str(path))


def read_jsonl(path: Path) -> list[Any]:
    """One value a line."""
    lines = enumerate(read_text(path).split("\n"), 1)
    return [parse_json(line, f"{path}:{i}") for i, line in lines if line.strip()]


@contextmanager
def writing() -> Iterator[None]:
    """Around what writes files: one that cannot be written is bad input."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{error.filename or 'a file'}: {error.strerror}") from None
