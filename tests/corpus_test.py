"""The text of the trained model: what is taken of packages, and which tokens become of it."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile

import pytest
from built import ROOT
from corpus.choice import Unsaid, is_held_out, up_to
from corpus.packages import documents, fetch
from corpus.plain import plain
from programs import BadInputError

LONG = "A sentence that is long enough to be a document of its own, with words in it. " * 10


def test_pages_and_man_pages_become_plain_text():
    page = b"<head><title>no</title></head><p>a &lt; b</p><script>no()</script><pre>c\n d</pre>"
    assert plain("x/page.html", page).split() == ["a", "<", "b", "c", "d"]
    man = rb""".\" a comment
.TH LS 1
.SH NAME
ls \- list \fBdirectory\fR contents
"""
    assert plain("usr/share/man/man1/ls.1", man) == "LS 1\n\nNAME\nls - list directory contents\n"
    assert plain("a.txt", b"kept  \n\n\n\nas is") == "kept\n\nas is\n"
    assert plain("a.txt", b"\xff\xfe") is None


def test_what_was_said_before_is_left_out():
    unsaid = Unsaid()
    licence = "Permission is granted to copy, distribute and modify this document. " * 3
    assert unsaid.of(f"{licence}\n\nshort\n\nfirst") == f"{licence}\n\nshort\n\nfirst\n"
    assert unsaid.of(f"{licence}\n\nshort\n\nsecond") == "short\n\nsecond\n"


def test_names_alone_say_what_is_chosen_and_held_out():
    every = [(f"package/{n}", "x" * 100) for n in range(500)]
    chosen = up_to(every, 5000)
    assert len(chosen) == 50
    assert chosen == up_to(reversed(every), 5000)
    held_out = [name for name, _ in every if is_held_out(name, 100)]
    assert 20 < len(held_out) < 90
    assert set(held_out) <= {name for name, _ in every if is_held_out(name, 200)}


def _deb(folder, files):
    """A package of these files, as dpkg-deb makes it."""
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    control = "Package: small\nVersion: 1:1.0\nArchitecture: all\nMaintainer: n <n@n>\n"
    (root / "DEBIAN" / "control").write_text(f"{control}Description: small\n")
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    file = folder / "small_1%3a1.0_all.deb"
    subprocess.run(["dpkg-deb", "--build", root, file], check=True, capture_output=True)
    return file


def _tarball(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_documents_of_a_package(tmp_path):
    files = {
        "usr/share/doc/a.txt": LONG.encode(),
        "usr/share/doc/short.txt": b"too short",
        "usr/share/doc/a.png": LONG.encode(),
        "usr/src/all.tar.xz": _tarball("all/kernel/b.txt", LONG.encode()),
    }
    file = _deb(tmp_path, files)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    package = {"name": "small", "version": "1:1.0", "sha256": sha256, "takes": [".txt"]}
    assert fetch(package, tmp_path) == file
    found = dict(documents(package, file))
    assert set(found) == {"small/usr/share/doc/a.txt", "small/all/kernel/b.txt"}
    within = {**package, "within": ["/kernel/"]}
    assert set(dict(documents(within, file))) == {"small/all/kernel/b.txt"}
    with pytest.raises(BadInputError, match="its SHA-256 is"):
        fetch({**package, "sha256": "0"}, tmp_path)


def test_the_recipe_names_versions_and_what_comes_of_them():
    recipe = json.loads((ROOT / "data" / "quality" / "corpus.json").read_text())
    packages = [*recipe["packages"], *recipe["slice"]]
    assert len({package["name"] for package in packages}) == len(packages)
    for package in packages:
        assert package["version"], package
        assert len(package["sha256"]) == 64, package
    assert recipe["made"]["train"]["tokens"] <= recipe["most_tokens"]
    assert set(recipe["made"]) == {"train", "held_out", "slice_train", "slice_held_out"}


@pytest.mark.parametrize("missing", ["numpy", "tokenizers"])
def test_without_a_package_it_says_so_in_one_line(missing):
    gone = "".join(f"sys.modules['{each}'] = None; " for each in ("tokenizers", missing))
    code = f"import runpy, sys; {gone}runpy.run_module('corpus', run_name='__main__')"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    python = sys.executable
    assert run.stderr == f"corpus: {python} has no {missing}; one with numpy and tokenizers\n"
