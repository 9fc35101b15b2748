"""docs/architecture.md shows the tree as it is."""

import re

from architecture.picture import WHAT, told
from architecture.tree import floors, rooms
from built import ROOT
from PIL import Image


def test_the_picture_is_of_this_tree():
    """`make architecture` draws it, and prints what the page says of it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    says = told(rooms(ROOT))
    assert re.search(r"!\[(.*)\]\(\.\./plots/pictures/architecture\.png\)", page)[1] == says
    with Image.open(ROOT / "plots" / "pictures" / "architecture.png") as image:
        assert image.text["Description"] == says


def test_every_room_has_its_words():
    assert WHAT.keys() == rooms(ROOT).keys()


def test_a_room_is_read_off_includes_and_cmake(tmp_path):
    files = {
        "low/part/a.h": "#pragma once\n",
        "low/part/a.cpp": "",
        "low/CMakeLists.txt": "add_library(its STATIC part/a.cpp)\n",
        "middle/b.cpp": '#include "low/part/a.h"\n',
        "top/c.cpp": '#include "middle/b.h"\n#include <low/part/a.h>\n',
        "top/CMakeLists.txt": "add_executable(tool c.cpp)\ninstall(FILES $<TARGET_FILE:its>)\n",
        "words/d.md": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = rooms(tmp_path)
    assert floors(found) == [["low"], ["middle"], ["top"]]
    assert found["low"].folders == ["part"]
    assert found["top"].includes == {"middle"}
    assert found["top"].brings == {"low"}
    assert found["top"].programs == ["tool"]
