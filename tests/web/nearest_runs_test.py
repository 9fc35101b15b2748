"""Measured runs beside the answer: which are shown, of which card, how far the prediction is."""

import json
import re
import sys
from importlib import import_module

import pytest
from page import ROOT, SITE, ask, link, opened, say, settled, until

sys.path.insert(0, str(ROOT / "web"))
build = import_module("build")
measured = import_module("measured")

# On two H200s.
RUN = ROOT / "data/runs/nvidia-h200/580.159.04-13.0/2026-11-23-279012c.json"
H200 = "NVIDIA H200"
OWN = {"model": "llama2-7b", "runtime": "vramfit", "precision": "bf16", "gpu": "h200"}
PYTORCH = {"model": "llama2-7b", "precision": "bf16", "gpu": "h200"}
LONG = {"batch": 8, "seq": 2048, "generate": 32}
TRAINED = {"train": True, "optimizer": "adamw-same", "batch": 4, "seq": 2048}


def runs_of(folder, *gpus):
    """A folder of runs: RUN as if it were on these GPUs, the last the newest."""
    for day, gpu in enumerate(gpus, 1):
        run = json.loads(RUN.read_text())
        run["context"] |= {"gpu": gpu, "date": f"2030-01-0{day}T00:00:00+00:00"}
        path = folder / "card/driver" / f"{day}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run))
    return folder


def own(runs):
    return [case for case in measured.table(runs)["cases"] if case["flags"]["runtime"] == "vramfit"]


def first_row(page):
    settled(page)
    return page.locator("#measured-rows tr").first.inner_text()


def worst_error(row):
    """Of a row's three levels, in percent."""
    errors = [float(e.replace("\u2212", "-")) for e in re.findall("([+\u2212][\\d.]+) %", row)]
    assert len(errors) == 3
    return max(map(abs, errors))


def test_a_run_on_a_card_that_nobody_listed_is_passed_over(tmp_path):
    listed = own(runs_of(tmp_path / "listed", H200))
    assert len(listed) > 100
    assert own(runs_of(tmp_path / "both", H200, "NVIDIA H9000")) == listed
    assert own(runs_of(tmp_path / "unlisted", "NVIDIA H9000")) == []


def site_of(folder, gpu):
    """The page with RUN as if it were on this GPU; how many cases there are for it."""
    cases = measured.table(runs_of(folder / "runs", gpu))
    part = build.measured_part(SITE / "vramfit.wasm", cases)
    whole = (SITE / "index.html").read_text(encoding="utf-8")
    whole = re.sub('(?<=id="measured">)[^<]*', part, whole)
    (folder / "index.html").write_text(whole, encoding="utf-8")
    return len(cases["cases"])


@pytest.fixture(scope="module")
def of_run(browser, tmp_path_factory):
    """A page whose own runs are RUN's, whatever was measured since."""
    folder = tmp_path_factory.mktemp("site")
    count = site_of(folder, H200)
    page = opened(browser, site=folder)
    page.count = count
    yield page
    assert page.errors == []
    page.context.close()


def test_the_caption_names_the_card_that_they_ran_on(browser, tmp_path):
    site_of(tmp_path, "NVIDIA GeForce RTX 4090")
    page = opened(browser, link(**OWN, **LONG), site=tmp_path)
    captions = {}
    for question in (link(**OWN, **LONG), link(**PYTORCH, batch=1, seq=512)):
        ask(page, question)
        settled(page)
        captions[question] = say(page, "#measured-caption").partition(",")[0]
    assert [*captions.values()] == [
        "GB on the RTX 4090 of vramfit\u2019s own step",
        "GB on the H200 under PyTorch 2.11",
    ]
    assert page.errors == []
    page.context.close()


def test_runs_of_vramfits_own_step(of_run):
    ask(of_run, link(**OWN, **{**TRAINED, "batch": 1}, gpus=2, strategy="fsdp"))
    row = first_row(of_run)
    assert "fsdp on 2 GPUs" in row and "1 \u00d7 2048" in row
    assert worst_error(row) <= 0.05
    assert "own step" in say(of_run, "#measured-part")


def test_runs_under_pytorch(page):
    row = first_row(page)
    assert "llama2-7b bf16" in row and "4 \u00d7 2048" in row
    assert worst_error(row) <= 2.6
    kinds = page.locator("#sources .chip, #measured-part .chip").all_inner_texts()
    assert {"measured", "predicted", "assumed"} <= set(kinds)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ({**PYTORCH, "batch": 1, "seq": 512}, "llama2-7b bf16 1 x 512"),
        ({**PYTORCH, "batch": 1, "seq": 512, "quant": "nf4"}, "llama2-7b bf16 1 x 512, nf4"),
        ({**OWN, **TRAINED}, "llama2-7b bf16 adamw-same 4 x 2048"),
        (
            {**OWN, **TRAINED, "checkpoint": "full", "checkpoint_every": 4},
            "llama2-7b bf16 adamw-same 4 x 2048, full checkpointing, of one block in 4",
        ),
        ({**OWN, **LONG, "cache": "fp8"}, "llama2-7b bf16 8 x 2048, 32 new, fp8 cache"),
        (
            {**OWN, **LONG, "block": 16, "lengths": "spread"},
            "llama2-7b bf16 8 x 2048, 32 new, blocks of 16, lengths spread",
        ),
    ],
)
def test_what_was_asked_is_shown_first(of_run, question, title):
    ask(of_run, link(**question))
    assert first_row(of_run).split("\t")[0].replace("\u00d7", "x") == title


def test_every_case_is_nearest_to_its_own_question(of_run):
    until(of_run, "Boolean(vramfitPage.state.cases)")
    found = of_run.evaluate(
        """() => {
          const { vramfit, measured: { flagsOf, nearest }, state: { cases: table } } = vramfitPage;
          const { cases, configs } = table;
          const asked = (one) => JSON.stringify(flagsOf(one, configs));
          const other = cases.filter((one) => {
            const answer = JSON.parse(vramfit.estimate(flagsOf(one, configs)));
            return asked(nearest(cases, answer)[0]) !== asked(one);
          });
          return { cases: cases.length, other: other.map(({ title }) => title) };
        }"""
    )
    assert found == {"cases": of_run.count, "other": []}
