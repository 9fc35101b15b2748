"""The rooms stay apart: what each may include, read off the #include lines."""

import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent

_RUNTIMES = ("runtimes", "runtimes/pytorch/torch", "runtimes/pytorch/transformers")
# room: the rooms whose headers it may include
MAY_INCLUDE = {
    "kernels/cuda": {"model", "kernels/host", "kernels/cuda"},
    "kernels/cpu": {"model", "kernels/host", "kernels/cpu"},
    "kernels/host": {"model", "kernels/host"},
    "runtimes/pytorch/torch": {"model", "runtimes", "runtimes/pytorch/torch"},
    "runtimes/pytorch/transformers": {"model", *_RUNTIMES},
    "runtimes": {"model", *_RUNTIMES},
    "estimator": {"model", *_RUNTIMES, "estimator"},
    "bench": {
        "model",
        "kernels/host",
        "kernels/cpu",
        "kernels/cuda",
        *_RUNTIMES,
        "estimator",
        "bench",
    },
    "standin": {"model", "standin"},
    "python": {"model", "estimator", "python"},
    "web": {"model", "runtimes", "estimator", "web"},
    "model": {"model"},
}
_JSON = {"nlohmann/json.hpp", "nlohmann/json_fwd.hpp"}
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
CUDA = re.compile(r"^(cuda|cublas|cudnn|cufft|curand|nccl|nvml|nvtx|nvrtc|thrust|cub/)")


def room_of(path: str) -> str | None:
    return next((room for room in MAY_INCLUDE if path.startswith(room + "/")), None)


def objection(file: str, quote: str, header: str) -> str | None:
    """What is wrong when `file`, a path from the root, includes `header`, or None."""
    room = room_of(file)
    if CUDA.match(header) and room != "kernels/cuda":
        return "CUDA headers stay in kernels/cuda"
    if quote == '"':
        target = room_of(header)
        if target is None:
            return "our headers are spelled from the repository's root, others go in <>"
        return None if target in MAY_INCLUDE[room] else f"{room} may not include {target}"
    if room == "model" and ("/" in header or "." in header) and header not in _JSON:
        return "model includes the standard library and nlohmann/json.hpp only"
    if file.endswith((".cu", ".cuh")) and header.startswith("fmt/"):
        return "nvcc does not compile fmt"
    return None


def objections(root: Path) -> list[str]:
    found = []
    for room in MAY_INCLUDE:
        for path in sorted((root / room).rglob("*")):
            file = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or room_of(file) != room:
                continue
            for quote, header in INCLUDE.findall(path.read_text()):
                if reason := objection(file, quote, header):
                    found.append(f"{file} includes {header}: {reason}")
    return found


def test_every_folder_with_code_is_a_room():
    """Tests may include all of them."""
    others = {"build", "tests"}
    folders = {path for path in ROOT.iterdir() if path.name[0] != "." and path.name not in others}
    with_code = {path.name for path in folders if next(path.rglob("*.cpp"), None)}
    assert with_code == {room.partition("/")[0] for room in MAY_INCLUDE}


def test_rooms_include_only_what_they_may():
    assert objections(ROOT) == []


def test_estimator_knows_runtimes_by_their_door_alone():
    """But for their table, PyTorch's releases, what a script on the stand-in finds loaded, and a
    formula that is the article's."""
    knowing = {"runtimes", "releases", "card_facts", "formulas"}
    inner = {path.name for path in (ROOT / "runtimes").iterdir() if path.is_dir()}
    for path in [*(ROOT / "estimator").rglob("*.h"), *(ROOT / "estimator").rglob("*.cpp")]:
        if path.stem in knowing:
            continue
        text = path.read_text()
        included = {header.split("/")[1] for _, header in INCLUDE.findall(text) if "/" in header}
        assert not included & inner, path
        assert "runtime().name() ==" not in text, path


def sources(suffix: str) -> list[Path]:
    return [path for room in MAY_INCLUDE for path in sorted((ROOT / room).rglob(f"*{suffix}"))]


def test_headers_are_read_once():
    wrong = [path for path in sources(".h") if not path.read_text().startswith("#pragma once\n")]
    assert wrong == []


def test_a_source_includes_its_own_header_first():
    """So that each is compiled with nothing before it; cmake/headers.cmake has the others."""
    for path in sources(".cpp"):
        header = path.with_suffix(".h").relative_to(ROOT).as_posix()
        if (ROOT / header).exists():
            assert INCLUDE.search(path.read_text())[2] == header, path


def circle(root: Path) -> list[str]:
    """Folders that include each other, first to last; empty where all arrows are one-way."""
    arrows = defaultdict(set)
    for file in sorted(path for path in root.rglob("*") if path.suffix in SUFFIXES):
        folder = file.relative_to(root).parent.as_posix()
        if room_of(folder + "/") is None:
            continue
        for quote, header in INCLUDE.findall(file.read_text()):
            other = PurePosixPath(header).parent.as_posix()
            if quote == '"' and other != folder:
                arrows[folder].add(other)
    try:
        list(TopologicalSorter(arrows).static_order())
    except CycleError as error:
        return error.args[1]
    return []


def test_arrows_between_folders_are_one_way():
    assert circle(ROOT) == []


def test_a_circle_is_found(tmp_path):
    for file, header in (("a/b.h", "c/d.h"), ("c/d.h", "e/f.h"), ("e/f.h", "a/b.h")):
        path = tmp_path / "model" / file
        path.parent.mkdir(parents=True)
        path.write_text(f'#include "model/{header}"\n')
    assert sorted(set(circle(tmp_path))) == ["model/a", "model/c", "model/e"]


@pytest.mark.parametrize(
    ("file", "line", "allowed"),
    [
        ("model/a.h", '#include "model/b.h"', True),
        ("model/a.h", "#include <vector>", True),
        ("model/a.h", "#include <nlohmann/json.hpp>", True),
        ("model/a.h", "#include <nlohmann/json_fwd.hpp>", True),
        ("model/a.h", "#include <nlohmann/other.hpp>", False),
        ("model/a.h", "#include <fmt/format.h>", False),
        ("model/a.h", '#include "estimator/b.h"', False),
        ("model/a.h", '#include "b.h"', False),
        ("estimator/a.cpp", '#include "model/b.h"', True),
        ("runtimes/a.cpp", '#include "estimator/b.h"', False),
        (
            "runtimes/pytorch/torch/a.cpp",
            '#include "runtimes/pytorch/transformers/b.h"',
            False,
        ),
        ("estimator/a.cpp", '  #  include "kernels/cpu/b.h"', False),
        ("estimator/a.cpp", "#include <cuda_runtime.h>", False),
        ("kernels/cpu/a.cpp", '#include "estimator/b.h"', False),
        ("kernels/cpu/a.cpp", '#include "kernels/cuda/b.h"', False),
        ("kernels/cuda/a.cu", "#include <cuda_runtime.h>", True),
        ("kernels/cuda/a.cu", "#include <fmt/format.h>", False),
        ("bench/a.cpp", '#include "kernels/cpu/b.h"', True),
        ("bench/a.cpp", "#include <cudnn.h>", False),
    ],
)
def test_the_check_itself(tmp_path, file, line, allowed):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"#pragma once\n{line}\n")
    assert (objections(tmp_path) == []) == allowed
