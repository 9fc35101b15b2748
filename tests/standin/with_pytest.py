"""pytest in the Python that has torch, which has no pytest of its own."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from stood_in import EXACT, PACKAGE


def pytest_packages(folder: Path) -> Path:
    """A folder with this Python's pytest and what it imports, and nothing else."""
    folder.mkdir()
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "py"):
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        origin = Path(spec.origin)
        found = origin.parent if origin.name == "__init__.py" else origin
        for path in (found, *found.parent.glob(f"{name}-*.dist-info")):
            (folder / path.name).symlink_to(path)
    return folder


def run_pytest(folder: Path, packages: Path, *flags) -> subprocess.CompletedProcess[str]:
    """Of the test modules in a folder, with the plugin that the package brings."""
    return subprocess.run(
        [EXACT, "-m", "pytest", "-p", "no:cacheprovider", *map(str, flags)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(packages)]),
            "HF_HUB_OFFLINE": "1",
        },
        check=False,
        timeout=300,
    )
