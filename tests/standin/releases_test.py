"""data/releases/: what is kept of each release, and the stand-in plays of one of them still."""

import json
import os
import re
import subprocess
import sys

import pytest
from exact.cases import readings
from exact.standin import played
from releases.known import KEPT, RELEASES, TOLD, chosen, pinned_cases
from stood_in import EXACT, ROOT, needs_torch
from vramfit_plots.releases import load_release

OF_MEASURED = next(release for release in RELEASES if release.name == "torch-2.11")
# compressed-tensors, which these environments lack and those of the reference and build/exact have,
# makes a tensor as it is imported, where tensors are made by default then: a model's card.
OF_COMPRESSED_TENSORS = 512
EVERY = 4  # of these cases one is played here; all of them by `make releases`


def differences(found, kept):
    """Of what the allocator holds, in bytes, of all stages."""
    return {
        level: {read[level] - kept[stage][level] for stage, read in found.items()}
        for level in ("alloc", "peak", "reserved", "peak_reserved")
    }


def is_as_measured(found, kept):
    more = differences(found, kept)
    reserved = more["reserved"] | more["peak_reserved"]
    return more["alloc"] | more["peak"] <= {0, OF_COMPRESSED_TENSORS} and reserved == {0}


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_each_release_has_all_cases_and_says_that_it_is_simulated(release):
    kept = load_release(release.folder)
    names = [case.name for case in pinned_cases()]
    assert [name for name in names if name not in kept.failed] == list(kept.readings)
    refused = [name for name in names if "gemma2" in name] if "5.24" in release.name else []
    assert list(kept.failed) == refused
    assert all("does not support an attention" in why for why in kept.failed.values())
    assert kept.versions["simulated"] == "by vramfit run; no GPU was asked"
    assert kept.versions["torch"].startswith(release.name.split("-")[1])
    for name in TOLD:
        answer = json.loads((release.folder / f"{name}.json").read_text())
        assert answer["simulated"] is True
        assert answer["versions"]["torch"].startswith(kept.versions["torch"])


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_nothing_names_the_machine(release):
    for file in release.folder.iterdir():
        paths = re.findall(r"(?:^|[\s\"'])/\w[^\s\"']*/", file.read_text())
        assert paths == [], file


def test_the_release_that_was_measured_is_as_measured():
    """Allocated and reserved, at every reading of a GPU."""
    kept = load_release(OF_MEASURED.folder)
    for case in pinned_cases():
        assert is_as_measured(case.measured, kept.readings[case.name]), case.name


@needs_torch
def test_the_stand_in_plays_them_as_they_are_kept():
    kept = load_release(OF_MEASURED.folder)
    cases = pinned_cases()[::EVERY]
    lines = played(cases, EXACT, len(os.sched_getaffinity(0)))
    for case in cases:
        found = readings(lines[case.name]["result"])
        assert is_as_measured(found, kept.readings[case.name]), case.name


def test_cublas_s_workspaces_are_held_no_more_from_2_15_on():
    """They are blocks of single calls then: docs/releases.md."""
    changes = json.loads((KEPT / "changes.json").read_text())
    (change,) = [change for change in changes if change["new"] == "torch-2.15"]
    (step,) = [row for row in change["rows"] if row["name"] == "step"]
    gone = [line for line in step["moved"][0]["lines"] if line["component"] == "workspace"]
    assert [line["new"] - line["old"] for line in gone] == [-(32 << 20)] * 2
    assert [line["in_backward"] for line in gone] == [False, True]


def test_a_release_that_is_none_is_a_line():
    names = "torch-2.13 torch-2.9"
    assert [release.name for release in chosen(names)] == names.split()
    ran = subprocess.run(
        [sys.executable, "-m", "releases", "--only", "torch-1.0"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "scripts")},
    )
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert "no release 'torch-1.0'; there are torch-2.9, torch-2.11" in line
