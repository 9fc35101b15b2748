"""`fit --release` of each release against what PyTorch of it took on the stand-in: the 40 cases of
data/releases/, at every reading, allocated and reserved."""

import json
import re
import subprocess
from dataclasses import fields

import pytest
from built import ROOT, measured_release, program, releases
from releases.known import KEPT, pinned_cases
from vramfit_plots.accuracy.cases import GENERATED, LOADED, Case, recorded
from vramfit_plots.accuracy.fit import stages
from vramfit_plots.files import data_dir
from vramfit_plots.releases import load_release

NAMES = [release["name"] for release in releases()]
POINTS = 54  # of 40 cases: an inference has several
# Of 512 bytes each: what compressed-tensors makes as it is imported, which these environments lack,
# and up to two of generate()'s.
SMALL = {0, 512, 1024, 1536}
# Prompts of 512 tokens that happen to hold a 0, which generate() takes for padding: it makes a mask
# then. More tokens are as likely to hold one as not, and are asked about as padded.
HOLD_PADDING = {
    "pytorch_single_gpu/gemma-2b/infer/bf16/1x512,4x1024,8x2048",
    "pytorch_single_gpu/gpt2-124m/infer/bf16/1x512,4x1024,8x2048",
    "pytorch_families/gemma3-1b/infer/bf16/1x512,4x1024",
}
# What earlier points of a process left: by 2 MiB reserved, of 0.3 and 1.6 GB.
AFTER_OTHERS = {
    ("2.9", "gpt2-124m", 4),
    ("2.11", "gpt2-124m", 4),
}


@pytest.fixture(scope="module")
def asked() -> list[tuple[str, str, Case]]:
    """The points of those cases: names, cards, and how `fit` is asked."""
    every = recorded(data_dir() / "reference").cases
    found = [
        (pinned.name, pinned.card, case)
        for pinned in pinned_cases()
        for case in every
        if (case.source, case.setting) == (pinned.file, pinned.setting)
    ]
    assert len(found) == POINTS
    return found


def taken(name, case, kept):
    """At each stage but loading, which draws weights: allocated then and at most, reserved."""
    played = kept.readings[name]
    if case.training:
        return {
            stage: (played[stage]["alloc"], played[stage]["peak"], played[stage]["peak_reserved"])
            for stage in case.stages
            if stage != LOADED
        }
    read = played[f"{case.batch}x{case.seq}"]
    return {GENERATED: (None, read["peak"], read["peak_reserved"])}


class Padded(Case):
    padded = True


def said(name, card, case, release):
    if name in HOLD_PADDING and case.seq == 512:
        case = Padded(**{field.name: getattr(case, field.name) for field in fields(case)})
    again = ["--again"] if case.again else []  # cuBLAS's workspace is there
    return stages(program("fit"), case, card, "--release", release, *again)


@pytest.mark.parametrize("release", NAMES)
def test_every_case_is_as_played(release, asked):
    kept = load_release(KEPT / f"torch-{release}")
    equal = 0
    for name, card, case in asked:
        answer = said(name, card, case, release)
        off = set()
        for stage, (after, peak, reserved) in taken(name, case, kept).items():
            told = answer[stage]
            assert after is None or told["after"] - after in SMALL, (name, stage)
            assert told["peak"] - peak in SMALL, (name, stage)
            off.add(told["reserved"] - reserved)
        if (release, case.model, case.batch) in AFTER_OTHERS and case.again:
            assert off <= {-(2 << 20), 2 << 20}, name
        else:
            assert off == {0}, name
            equal += 1
    known = sum(each == release for each, _, _ in AFTER_OTHERS)
    assert equal == POINTS - known
    words = " ".join((ROOT / "docs" / "releases.md").read_text().split())
    assert f"{release}: {equal} of {POINTS}" in words


def test_a_release_is_told_of():
    """By name, in JSON and in a note where nobody measured it."""
    question = [program("fit"), "--json", "--gpu", "h200", "--model", "llama2-7b", "--train"]
    usual = json.loads(subprocess.run(question, capture_output=True, check=False).stdout)
    assert usual["release"]["name"] == measured_release()["name"]
    assert not any("no real one" in note for note in usual["notes"])
    for release in releases():
        ran = subprocess.run(
            [*question, "--release", release["name"]], capture_output=True, check=False
        )
        answer = json.loads(ran.stdout)
        assert answer["release"]["torch"] == release["torch"]["version"]
        simulated = any("no real one" in note for note in answer["notes"])
        assert simulated == release.get("simulated", False)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            ["--release", "2.12"],
            "no rules of PyTorch '2.12' are derived; .* or 2.15, or vramfit run",
        ),
        (["--runtime", "vllm", "--release", "2.13"], "release: unknown '2.13'; 0.26 or 0.33"),
        (["--runtime", "vramfit", "--release", "2.13"], "release: only under --runtime pytorch"),
    ],
)
def test_one_that_is_not_known_is_a_line(more, why):
    question = [program("fit"), "--gpu", "h200", "--model", "llama2-7b", *more]
    ran = subprocess.run(question, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert re.search(why, line), line
