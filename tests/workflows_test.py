"""Workflows: what they start is there, they may do no more than they have to, and those that
nobody has started say so."""

import re
import subprocess

import pytest
from built import ROOT
from version_test import VERSION

yaml = pytest.importorskip("yaml")

FOLDER = ROOT / ".github" / "workflows"
NEVER_RAN = {"pages.yml", "release.yml", "wheels.yml"}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.fixture(params=sorted(FOLDER.glob("*.yml")), ids=lambda path: path.name)
def path(request):
    return request.param


def test_what_it_starts_is_there(path):
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        assert set(job.get("needs", "").split()) <= yaml.safe_load(path.read_text())["jobs"].keys()
        if "uses" in job:
            assert (ROOT / job["uses"]).exists()
        for step in job.get("steps", ()):
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))
            run = step.get("run", "")
            for program in re.findall(r"(?:scripts|\.ci)/\w+", run):
                assert (ROOT / program).stat().st_mode & 0o111, program
            assert set(re.findall(r"\bmake ([a-z-]+)", run)) <= TARGETS


def test_it_reads_unless_a_job_says_more(path):
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}


def test_those_that_never_ran_say_so(path):
    assert ("NOT YET RUN" in path.read_text()) == (path.name in NEVER_RAN)


def notes(version, **environment):
    return subprocess.run(
        [ROOT / "scripts" / "release_notes", version],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_release_says_what_the_changelog_says_of_it():
    said = notes(VERSION).stdout.strip()
    assert said
    assert said in (ROOT / "CHANGELOG.md").read_text()
    assert "\n## " not in said
    linked = notes(VERSION, REPOSITORY="https://a.example/b").stdout
    assert "](docs/" not in linked
    assert f"](https://a.example/b/blob/v{VERSION}/docs/" in linked


def test_a_release_that_the_changelog_lacks_is_none():
    ended = notes("9.9.9")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "CHANGELOG.md: says nothing of 9.9.9\n"


def test_the_newest_version_is_read_in_a_minute():
    """At 240 words a minute, and links are not read."""
    said = re.sub(r"\]\([^)]*\)", "]", notes(VERSION).stdout)
    assert len(re.findall(r"[\w'-]+", said)) <= 420
