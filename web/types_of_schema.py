"""Parts of the answer's schema as TypeScript: their keys are listed once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SCHEMA = Path(__file__).resolve().parent.parent / "docs/schemas/fit.schema.json"
_PARTS = json.loads(_SCHEMA.read_text())["$defs"]
_KINDS = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def _kind(part: Mapping[str, Any]) -> str:
    if "$ref" in part:
        return _kind(_PARTS[part["$ref"].rpartition("/")[2]])
    if "const" in part:
        return f"'{part['const']}'"
    if "enum" in part:
        return " | ".join("null" if one is None else f"'{one}'" for one in part["enum"])
    kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
    return " | ".join(_one_kind(kind, part) for kind in kinds)


def _one_kind(kind: str, part: Mapping[str, Any]) -> str:
    if kind == "array":
        return f"{_kind(part['items'])}[]"
    if kind != "object":
        return _KINDS[kind]
    if "properties" not in part:
        values = part.get("additionalProperties")
        return f"Record<string, {_kind(values) if values else 'unknown'}>"
    members = [f"{name}: {_kind(of)}" for name, of in part["properties"].items()]
    return "{ " + "; ".join(members) + " }"


def members(part: str) -> str:
    """Those of an interface: a part of the schema, as `asked`. Those that one task alone has may be
    absent."""
    schema = _PARTS[part]
    named = dict(schema["properties"])
    for case in ("then", "else"):
        for name, of in schema.get(case, {}).get("properties", {}).items():
            named.setdefault(name, of)
    lines = []
    for name, of in named.items():
        if "description" in of:
            lines.append(f"  /** {of['description']}. */")
        lines.append(f"  {name}{'' if name in schema['required'] else '?'}: {_kind(of)};")
    return "\n".join(lines)
