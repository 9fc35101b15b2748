"""Reads JSON and holds it against docs/schemas: the one door that data comes in by.

jsonschema_rs says in milliseconds that all is well; what is not, jsonschema finds the words for."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from vramfit_plots import files
from vramfit_plots.files import BadInputError

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"
_SUFFIX = ".schema.json"
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "minItems": "entries are at least",
    "maxItems": "entries are at most",
    "minProperties": "entries are at least",
    "pattern": "the form is",
}
_SHOWN = 30  # characters of a value that is not what it should be


@cache
def _documents() -> list[tuple[str, Any]]:
    paths = sorted(_FOLDER.glob(f"*{_SUFFIX}"))
    return [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def _reference(schema: str) -> dict[str, str]:
    name, _, part = schema.partition("/")
    return {"$ref": f"{name}{_SUFFIX}" + (f"#/$defs/{part}" if part else "")}


@cache
def _quick(schema: str) -> jsonschema_rs.Draft202012Validator:
    registry = jsonschema_rs.Registry(_documents())
    return jsonschema_rs.Draft202012Validator(_reference(schema), registry=registry)


@cache
def _thorough(schema: str) -> Draft202012Validator:
    registry = Registry().with_resources(
        (name, DRAFT202012.create_resource(document)) for name, document in _documents()
    )
    return Draft202012Validator(_reference(schema), registry=registry)


def _types(given: str | Iterable[str]) -> str:
    return " or ".join(_TYPES[name] for name in ([given] if isinstance(given, str) else given))


def _said(error: ValidationError) -> str:
    """What is wrong, without what may be long: jsonschema's own words quote the whole value."""
    expected = error.validator_value
    if error.validator == "required":
        return f"no '{next(key for key in expected if key not in error.instance)}'"
    if error.validator == "type":
        return f"should be {_types(expected)}"
    if error.validator in {"anyOf", "oneOf"}:
        return f"is none of {', '.join(option.get('title', 'others') for option in expected)}"
    shown = json.dumps(error.instance, ensure_ascii=False)
    if len(shown) > _SHOWN:
        return f"not as {error.validator} in its schema asks for"
    if error.validator in {"const", "enum"}:
        options = expected if error.validator == "enum" else [expected]
        return f"is {shown}; expected is {' or '.join(map(str, options))}"
    return f"is {shown}; {_BOUNDS.get(error.validator, error.validator)} {expected}"


def check(value: Any, where: str, schema: str) -> None:
    """`schema` names a file of docs/schemas and, after a slash, one of its definitions. Throws
    BadInputError that says where the value is not what is described."""
    if _quick(schema).is_valid(value):
        return
    error = best_match(_thorough(schema).iter_errors(value))
    if error is not None:
        place = error.json_path.removeprefix("$").removeprefix(".")
        raise BadInputError(": ".join(part for part in (where, place, _said(error)) if part))


def parse_json(text: str, where: str, schema: str) -> Any:
    value = files.parse_json(text, where)
    check(value, where, schema)
    return value


def read_json(path: Path, schema: str) -> Any:
    return parse_json(files.read_text(path), str(path), schema)


def read_jsonl(path: Path, schema: str) -> list[Any]:
    """One value a line."""
    lines = enumerate(files.read_text(path).splitlines(), 1)
    return [parse_json(line, f"{path}:{i}", schema) for i, line in lines if line.strip()]
