"""Python's imports go one way: those at the top of a module, those within its functions, and those
that type checkers alone see."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from built import ROOT

PACKAGES = {"vramfit": "python", "vramfit_plots": "plots", "exact": "scripts", "breadth": "scripts",
            "compare": "scripts", "pytorch": "scripts"}  # fmt: skip


def modules(folder: Path, package: str) -> dict[str, Path]:
    """By name; a package's own is that of its __init__.py. What is compiled has its types in a
    *.pyi."""
    found = {}
    for path in sorted((folder / package).rglob("*.py*")):
        if path.suffix not in {".py", ".pyi"}:
            continue
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path) -> Iterator[str]:
    """Every name that may be a module's: of `from a import b` both a.b and a."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def arrows(folder: Path, package: str) -> dict[str, set[str]]:
    """A name that is no module is its module's; that a module's package is imported before it is no
    arrow."""
    own = modules(folder, package)
    found: dict[str, set[str]] = {}
    for name, path in own.items():
        targets = {
            target if target in own else target.rpartition(".")[0] for target in imported(path)
        }
        found[name] = {target for target in targets & own.keys() if target != name}
    return found


def circle(folder: Path, package: str) -> list[str]:
    """Modules that import each other, first to last; empty where all arrows are one-way."""
    try:
        list(TopologicalSorter(arrows(folder, package)).static_order())
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package):
    assert arrows(ROOT / PACKAGES[package], package), "there are modules"
    assert circle(ROOT / PACKAGES[package], package) == []


@pytest.mark.parametrize(
    "back",
    [
        "from p import a\n",
        "import p.a\n",
        "def f():\n    from p.a import one\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import One\n",
    ],
)
def test_a_circle_is_found_wherever_its_imports_stand(tmp_path, back):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "__init__.py").write_text("")
    (tmp_path / "p" / "a.py").write_text("from p.b import two\n")
    (tmp_path / "p" / "b.py").write_text("import json\n")
    assert circle(tmp_path, "p") == []
    (tmp_path / "p" / "b.py").write_text(back)
    assert set(circle(tmp_path, "p")) == {"p.a", "p.b"}
