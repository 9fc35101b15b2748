"""What people do with the page."""

import csv
import io
import json
import pickle
import re

import pytest
from page import (
    EVERY_OPTION,
    LORA,
    OPENS,
    ROOT,
    START,
    advised,
    answered,
    ask,
    fit,
    link,
    linked,
    opened,
    say,
    settled,
    state,
    until,
)


def asked(batch=4):
    """The question that the page opens with."""
    words = f"--model llama2-7b --train --precision bf16 --batch {batch} --seq 2048 --gpu rtx4090"
    return words.split()


def test_it_opens_at_what_does_not_fit_and_what_makes_it(fresh):
    page = fresh
    assert state(page) == {
        "model": "llama3.1-8b",
        "train": True,
        "lora": "16",
        "precision": "bf16",
        "batch": "2",
        "seq": "1024",
        "gpu": "rtx4090",
    }
    answer = fit(*OPENS.split())
    assert say(page, "#verdict") == "OOM" == answer["verdict"]
    more = f"{-answer['margin'] / 1e9:.2f} GB more than the RTX 4090's 25.76 GB"
    assert more in say(page, "#reason")
    assert "out in forward of step 1" in say(page, "#reason")
    assert say(page, "#peak") == "The peak is in backward of step 2."
    levels = [f"{name} {answer['levels'][name] / 1e9:.2f}" for name in ("allocated", "reserved")]
    for level in (*levels, f"total {answer['total'] / 1e9:.2f}", "VRAM 25.76 GB"):
        assert level in page.locator("#bar").text_content()
    off = answer["uncertainty"]
    most = answer["total"] + off["reserved"] + off["overhead_more"]
    assert "Hatched: what the card has no room for." in say(page, "#bar-says")
    assert f" to {most / 1e9:.2f} GB." in say(page, "#bar-says")
    assert page.locator("#advice-wait").is_visible() or page.locator(".way").count() > 0
    advised(page)
    assert not page.locator("#advice-wait").is_visible()
    assert page.locator(".way .what").first.inner_text() == "Activation checkpointing"
    assert page.url.endswith(
        "#" + OPENS.replace("--", "&").replace(" &", "&").replace(" ", "=")[1:]
    )


def test_what_fits_has_nothing_hatched(page):
    ask(page, START.replace("rtx4090", "b200"))
    assert say(page, "#verdict") == "FITS"
    assert "Hatched" not in say(page, "#bar-says")


@pytest.mark.parametrize("width", [360, 390, 700, 1600])
def test_the_cards_end_crosses_no_figure(browser, width):
    page = opened(browser, viewport={"width": width, "height": 900})
    crossed = page.evaluate(
        """() => {
          const line = document.querySelector('#bar .vram').getBoundingClientRect();
          return [...document.querySelectorAll('#bar .inside')].filter((figure) => {
            const { left, right } = figure.getBoundingClientRect();
            return left < line.left && line.right < right;
          }).length;
        }"""
    )
    assert crossed == 0
    bar, label = (page.locator(f"#bar{part}").bounding_box() for part in ("", " .vram-label"))
    assert bar["x"] <= label["x"]
    assert label["x"] + label["width"] <= bar["x"] + bar["width"] + 1
    page.context.close()


def test_a_slider_moves_the_bar(page):
    before = page.locator("#bar .c-activations").get_attribute("width")
    page.locator("#s-batch").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["batch"] == "5"
    assert page.locator("#f-batch").input_value() == "5"
    assert page.locator("#s-batch").get_attribute("aria-valuetext") == "5 sequences"
    flags = asked(batch=5)
    assert state(page, "answer.total") == fit(*flags)["total"]
    assert page.locator("#bar .c-activations").get_attribute("width") != before


def test_figures_that_are_typed_need_no_stop_of_the_slider(page):
    page.locator("#f-seq").fill("777")
    assert state(page, "answer.asked.seq") == 777
    page.locator("#f-seq").fill("many")
    assert say(page, "#verdict") == "No answer"
    assert say(page, "#reason").startswith("seq: ")
    page.locator("#f-seq").fill("512")
    assert say(page, "#verdict") == "OOM"


def test_choices_that_no_longer_go_together_are_taken_back(page):
    page.locator("#f-optimizer").select_option("paged-adamw-8bit")
    page.locator("#f-runtime").select_option("vramfit")
    assert "optimizer" not in state(page)
    page.locator("#f-precision").select_option("fp16")
    page.get_by_label("Inference").check()
    assert "train" not in state(page)
    page.locator("#f-precision").select_option("nf4")
    assert state(page, "answer.asked.precision") == "nf4"
    page.locator("#f-runtime").select_option("article")
    assert state(page, "answer.runtime") == "article"
    assert not page.locator('[data-field="optimizer"]').is_visible()


@pytest.mark.parametrize(
    "start",
    [START, LORA.replace("rtx4090", "h200"), "model=llama2-7b&batch=2&seq=512&gpu=h200"],
)
@pytest.mark.parametrize("runtime", ["pytorch", "vramfit", "article"])
def test_no_option_is_refused(page, start, runtime):
    question = f"{start}&runtime={runtime}" if runtime != "pytorch" else start
    if runtime == "article":
        question = re.sub("&(lora|checkpoint)=[^&]*", "", question)
    ask(page, question)
    found = page.evaluate(EVERY_OPTION)
    assert found["refused"] == []
    assert found["tried"] > 5


@pytest.mark.parametrize("runtime", ["pytorch", "vramfit", "article"])
def test_what_the_address_leaves_out_has_a_name(page, runtime):
    ask(page, f"model=gpt2-124m&train&gpu=h200&runtime={runtime}")
    chosen = page.eval_on_selector_all(
        "select", "all => all.filter(s => s.checkVisibility()).map(s => s.selectedOptions[0]?.text)"
    )
    assert len(chosen) > 3
    assert all(chosen)


def test_several_gpus(page):
    page.locator("#card").select_option("h100-80gb")
    page.locator("#f-gpus").select_option("4")
    page.locator("#f-strategy").select_option("fsdp")
    settled(page)
    assert state(page, "answer.asked.strategy") == "fsdp"
    assert "on each of 4 GPUs under fsdp" in say(page, "#what-runs")
    assert state(page, "answer.components.communication") > 0


def test_advice_is_a_button_that_sets_the_controls(page):
    advised(page)
    way = page.locator(".way").first
    assert "LoRA of rank 16" in way.inner_text()
    way.click()
    assert say(page, "#verdict") == "FITS"
    assert state(page)["lora"] == "16"
    assert page.locator("#f-checkpoint").input_value() == "full"
    advised(page)
    assert "nothing has to be changed" in say(page, "#advice")


def test_every_advice_gives_the_total_it_promises(page):
    advised(page)
    found = fit(*asked(), "--advise")
    advice = found["advice"] + found["on_several_gpus"]
    assert page.locator(".way").count() == len(advice) > len(found["advice"]) > 1
    for index, promised in enumerate(advice):
        ask(page, START)
        advised(page)
        page.locator(".way").nth(index).click()
        assert state(page, "answer.total") == promised["total"]
        assert state(page, "answer.verdict") == promised["verdict"]


def test_a_link_holds_the_whole_state(browser):
    page = opened(
        browser, link(model="qwen2-7b", batch=2, seq=4096, gpu="l4", quant="nf4", axis="seq")
    )
    linked(page)
    assert state(page, "answer.asked.quant.format") == "nf4"
    assert page.locator("#f-quant").input_value() == "nf4"
    assert page.locator("#card").input_value() == "l4"
    assert page.locator("input[name=axis][value=seq]").is_checked()
    url, total = page.url, state(page, "answer.total")
    page.goto("about:blank")
    page.goto(url)
    until(page, "Boolean(globalThis.vramfitPage)")
    assert state(page, "answer.total") == total
    assert page.errors == []
    page.context.close()


def test_the_command_answers_the_same(page):
    ask(page, LORA)
    program, *flags = say(page, "#command").split()
    assert f'\n{program} = "vramfit.__main__' in (ROOT / "pyproject.toml").read_text()
    assert f"RENAME {program})" in (ROOT / "cmake/install.cmake").read_text()
    assert fit(*flags)["total"] == state(page, "answer.total")


@pytest.mark.parametrize("switch", ["strict", "strict=true"])
def test_a_switch_of_fits_is_one_of_a_link(page, switch):
    ask(page, f"{START}&{switch}")
    assert say(page, "#verdict") == "OOM"
    name = switch.split("=")[0]
    assert say(page, "#command").endswith(f" --{name}")
    linked(page)
    assert page.url.endswith(f"&{name}")


def test_strict_stays_whatever_is_chosen(page):
    ask(page, f"{START}&strict")
    page.get_by_label("Inference").check()
    page.locator("#f-runtime").select_option("vramfit")
    assert state(page)["strict"] is True


@pytest.mark.parametrize("view", ["", "explorer&"])
def test_a_refusal_leaves_no_figure_of_the_question_before(page, view):
    ask(page, view + START)
    settled(page)
    curve = page.locator("#curve .total-line")
    assert curve.is_visible()
    page.locator("#f-seq").fill("many")
    answered(page)
    settled(page)
    assert not curve.is_visible()
    said = page.locator(".answers").inner_text()
    assert re.search(r"\d", said) is None
    assert "No answer" in said
    assert "seq: is 'many'" in said
    assert "seq: is 'many'" in page.locator("#aloud").text_content()
    page.locator("#f-seq").fill("2048")
    settled(page)
    assert curve.is_visible()


def test_stale_questions_are_dropped(fresh):
    page = fresh
    for _ in range(12):
        page.locator("#s-batch").press("ArrowRight")
        page.wait_for_timeout(160)  # longer than the page waits before the worker begins
    until(page, "vramfitPage.explorer.points.length > 8")
    assert state(page, "question.batch") == "14"
    assert (
        page.locator("#formulas tr").first.inner_text().split("\t")[2]
        == f"{state(page, 'answer.total') / 1e9:.1f}"
    )


def test_formulas_beside_it(page):
    advised(page)
    flags = "--model llama2-7b --train --precision bf16 --batch 4 --seq 2048 --gpu rtx4090"
    for formula in fit(*flags.split(), "--formulas")["formulas"]:
        assert formula["name"] in say(page, "#formulas")
    ask(page, link(model="llama2-7b", train=True, lora="16", gpu="rtx4090"))
    advised(page)
    flags = "--model llama2-7b --train --lora 16 --gpu rtx4090"
    for formula in fit(*flags.split(), "--formulas")["formulas"]:
        where = "#no-formulas" if formula["total"] is None else "#formulas"
        assert formula["name"] in say(page, where)


_SHARED = "model=llama2-7b&train&gpu=h200&gpus=2"
_BUCKETS = f"{_SHARED}&precision=bf16&strategy=zero1&bucket-view&bucket-cap-mb=50"
_MIXED = f"{_SHARED}&precision=fp32&strategy=fsdp&mixed-precision=bf16&reduce-dtype=bf16"
_OWN = "model=llama2-7b&gpu=h200&runtime=vramfit"


@pytest.mark.parametrize(
    ("question", "field", "value", "gone"),
    [
        (_BUCKETS, "strategy", "fsdp", {"bucket-view", "bucket-cap-mb"}),
        (_BUCKETS, "gpus", "", {"bucket-view", "bucket-cap-mb", "strategy"}),
        (
            f"{_SHARED}&strategy=fsdp&reshard-after-forward=false",
            "strategy",
            "zero1",
            {"reshard-after-forward"},
        ),
        (_MIXED, "mixed-precision", "", {"reduce-dtype"}),
        (_MIXED, "precision", "bf16", {"mixed-precision", "reduce-dtype"}),
        (
            "model=llama2-7b&gpu=h200&quant=nf4&quant-compute=fp32",
            "quant",
            "int8",
            {"quant-compute"},
        ),
        (
            f"{_OWN}&train&checkpoint=full&checkpoint-every=2",
            "checkpoint",
            "",
            {"checkpoint-every"},
        ),
        (f"{_OWN}&precision=int8&head=quantized", "precision", "bf16", {"head"}),
    ],
)
def test_a_setting_goes_with_what_it_rests_on(page, question, field, value, gone):
    ask(page, question)
    before = state(page)
    page.locator(f"#f-{field}").select_option(value)
    assert before.keys() - state(page).keys() - {field} == gone
    assert say(page, "#verdict") in ("FITS", "TIGHT", "OOM")


@pytest.mark.parametrize(
    ("question", "field", "value"),
    [
        (_BUCKETS, "gpus", "4"),
        (_BUCKETS, "strategy", ""),
        (_MIXED, "strategy", "fsdp-accelerate"),
        (_MIXED, "mixed-precision", "fp16"),
    ],
)
def test_a_setting_stays_while_it_applies(page, question, field, value):
    ask(page, question)
    before = state(page)
    page.locator(f"#f-{field}").select_option(value)
    after = {**before, field: value}
    assert state(page) == {name: given for name, given in after.items() if given}
    assert say(page, "#verdict") in ("FITS", "TIGHT", "OOM")


def test_a_script_that_keeps_the_loss_alone(page):
    ask(page, "model=llama2-7b&train&precision=bf16&batch=4&seq=2048&gpu=h200")
    page.locator("#f-loss-only").select_option("on")
    flags = "--model llama2-7b --train --precision bf16 --batch 4 --seq 2048 --gpu h200 --loss-only"
    assert state(page, "answer.total") == fit(*flags.split())["total"]


def _downloaded(page, button):
    with page.expect_download() as download:
        page.locator(f"[data-export={button}]").click()
    return download.value.path().read_bytes()


def test_exports(page, tmp_path):
    svg = _downloaded(page, "svg").decode()
    assert svg.startswith("<svg") and "OOM" in svg and "c-activations" in svg
    assert _downloaded(page, "png").startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO(_downloaded(page, "csv").decode())))
    parts = [int(row["bytes"]) for row in rows if row["what"] == "component"]
    total = next(int(row["bytes"]) for row in rows if row["name"] == "total")
    assert sum(parts) == total == state(page, "answer.total")
    flags = asked()
    assert json.loads(_downloaded(page, "json")) == fit(*flags)
    fit(*flags, "--snapshot", str(tmp_path / "run.pickle"))
    snapshot = _downloaded(page, "snapshot")
    assert snapshot == (tmp_path / "run.pickle").read_bytes()
    assert pickle.loads(snapshot)["device_traces"]
    assert json.loads(_downloaded(page, "trace"))["traceEvents"]


def test_copied(browser):
    page = opened(browser, LORA, permissions=["clipboard-read", "clipboard-write"])
    for button, expected in (("link", f"#{LORA}"), ("command", "--lora 16")):
        page.locator(f"[data-export={button}]").click()
        until(page, "document.querySelector('#export-note').textContent")
        assert expected.replace("#", "") in page.evaluate("navigator.clipboard.readText()")
    page.context.close()
