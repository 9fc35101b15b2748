"""The runtimes' settings and searches as types of keywords: settings_types.py FOLDER OUT writes the
module `vramfit._settings`, by what the `_core` of the folder says of runtimes."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

_TYPES = {
    "text": "str",
    "number": "Number",
    "list": "str | Sequence[Number]",
    "truth": "bool | str",
    "nothing": "bool",
}
#: Objects may be given, too: vramfit/_flags.py has it.
_OF_OBJECTS = {"lora"}
_HEAD = '''"""Keywords of the runtimes, for type checkers alone; by python/settings_types.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

Number = int | str
'''


def _class(name: str, about: str, members: dict[str, str]) -> str:
    lines = [f"    {flag.replace('-', '_')}: {kind}" for flag, kind in members.items()]
    return "\n".join(
        ["", "", f"class {name}(TypedDict, total=False):", f'    """{about}"""', "", *lines, ""]
    )


def module(runtimes: list[dict[str, Any]]) -> str:
    """Its text."""
    settings: dict[str, str] = {}
    for setting in (one for runtime in runtimes for one in runtime["settings"]):
        kind = _TYPES[setting["takes"]]
        if setting["name"] not in _OF_OBJECTS:
            settings.setdefault(setting["name"], kind)
        for spelling in setting["spellings"]:
            settings.setdefault(spelling["name"], "bool" if spelling["switch"] else kind)
    searches = {f"max-{axis['name']}": "bool" for one in runtimes for axis in one["axes"]}
    return (
        _HEAD
        + _class(
            "Settings", "What a run can be told, by its names and by those of others.", settings
        )
        + _class("Searches", "The largest of a size.", searches)
    )


def main() -> None:
    folder, out = sys.argv[1:]
    sys.path.insert(0, folder)
    core = importlib.import_module("_core")
    Path(out).write_text(module(json.loads(core.runtimes())), encoding="utf-8")


if __name__ == "__main__":
    main()
