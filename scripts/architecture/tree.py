"""What the tree itself says of its rooms: folders, programs, and the arrows between them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SOURCES = {".h", ".cpp", ".cu", ".cuh"}
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"/]+)/', re.MULTILINE)
_PROGRAM = re.compile(r"^(?:add_executable|nanobind_add_module)\((\w+)", re.MULTILINE)
_LIBRARY = re.compile(r"^add_library\((\w+) (?:STATIC|SHARED|OBJECT)", re.MULTILINE)
_USED = re.compile(r"TARGET_FILE:(\w+)")
_WITHOUT_CODE = {"build", "tests"}


@dataclass(frozen=True)
class Room:
    name: str
    folders: list[str]
    programs: list[str]  # that CMake builds of it
    includes: frozenset[str]  # rooms
    brings: frozenset[str]  # rooms whose library it only takes along


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES)


def _cmake(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("CMakeLists.txt")))


def _room(root: Path, name: str, owners: Mapping[str, str]) -> Room:
    folder = root / name
    cmake = _cmake(folder)
    found = {match for path in _sources(folder) for match in _INCLUDE.findall(path.read_text())}
    included = found & set(owners.values()) - {name}
    brought = {owners[library] for library in _USED.findall(cmake) if library in owners} - {name}
    within = (path.name for path in sorted(folder.iterdir()) if path.is_dir())
    return Room(
        name=name,
        folders=[sub for sub in within if _sources(folder / sub)],
        programs=_PROGRAM.findall(cmake),
        includes=frozenset(included),
        brings=frozenset(brought - included),
    )


def rooms(root: Path) -> dict[str, Room]:
    """Of the root's folders those with C++ in them."""
    names = [
        path.name
        for path in sorted(root.iterdir())
        if path.is_dir() and path.name[0] != "." and path.name not in _WITHOUT_CODE
    ]
    names = [name for name in names if any((root / name).rglob("*.cpp"))]
    owners = {name: name for name in names}
    owners |= {lib: name for name in names for lib in _LIBRARY.findall(_cmake(root / name))}
    return {name: _room(root, name, owners) for name in names}


def floors(every: Mapping[str, Room]) -> list[list[str]]:
    """Each room as low as what it includes lets it be."""
    height: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((of(other) for other in every[name].includes), default=-1)
        return height[name]

    for name in every:
        of(name)
    return [[n for n in every if height[n] == h] for h in range(max(height.values()) + 1)]
