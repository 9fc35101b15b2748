"""The page under llama.cpp: its fields follow its settings, its sizes its axes."""

import pytest
from page import EVERY_OPTION, START, answered, ask, fit, say, settled, state, until

QUESTION = "model=llama3-8b&runtime=llama.cpp&quant=Q8_0&ctx=8192&gpu=rtx4090"
_FLAGS = ["--runtime", "llama.cpp", "--model", "llama3-8b", "--quant", "Q8_0", "--gpu", "rtx4090"]


def test_a_runtime_brings_its_own_fields(page):
    page.locator("#f-runtime").select_option("llama.cpp")
    assert state(page) == {
        "model": "llama2-7b",
        "runtime": "llama.cpp",
        "ctx": "2048",  # as long as the sequence was
        "gpu": "rtx4090",
    }
    assert say(page, "#verdict") == "FITS"
    shown = page.locator("#controls .field:visible").evaluate_all(
        "all => all.map((one) => one.dataset.field).filter(Boolean)"
    )
    assert {"ctx", "parallel", "gpu-layers", "quant", "cache-type-k", "n-cpu-moe"} < {*shown}
    assert {"train", "batch", "seq", "precision", "attention"}.isdisjoint(shown)
    assert page.locator("#f-gpu-layers").get_attribute("placeholder") == "33", (
        "all, as none is given"
    )
    page.locator("#f-runtime").select_option("")
    assert state(page) == {"model": "llama2-7b", "seq": "2048", "gpu": "rtx4090"}


def test_fields_are_flags(page):
    ask(page, QUESTION)
    page.locator("#f-cache-type-k").select_option("q8_0")
    page.locator("#f-gpu-layers").fill("20")
    page.locator("#f-flash-attn").select_option("on")
    page.locator("#f-ubatch-size").fill("256")
    flags = "--ctx 8192 --cache-type-k q8_0 --gpu-layers 20 --flash-attn on --ubatch-size 256"
    answer = fit(*_FLAGS, *flags.split())
    assert state(page, "answer.total") == answer["total"]
    assert say(page, "#command").endswith("--flash-attn on --ubatch-size 256")
    assert say(page, "#what-runs") == "llama3-8b, inference, context 8,192, slots 4, GPU layers 20"


def test_where_it_lies_and_what_it_would_choose(page):
    ask(page, QUESTION + "&gpu-layers=10")
    settled(page)
    answer = fit(*_FLAGS, "--ctx", "8192", "--gpu-layers", "10")
    rows = page.locator("#device-rows tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == [one["device"] for one in answer["devices"]]
    total = sum(answer["devices"][0]["parts"].values())
    assert rows[0].split("\t")[-1] == f"{total / 1e9:.2f}"
    found = {axis: fit(*_FLAGS, *sizes, f"--max-{axis}")["largest"] for axis, sizes in (
        ("ctx", ("--gpu-layers", "10")), ("gpu-layers", ("--ctx", "8192")),
    )}  # fmt: skip
    says = say(page, "#largest-sizes")
    assert f"Context {found['ctx']:,}" in says
    assert f"GPU layers {found['gpu-layers']:,}" in says
    assert say(page, "#own-choice") == "Left to itself it would be started so on this card."
    card = ("--vram", "8GiB")
    ask(page, "model=llama3-8b&runtime=llama.cpp&quant=Q8_0&vram=8GiB")
    choice = fit(*_FLAGS[:-2], *card)["own_choice"]
    assert int(choice["gpu_layers"]) < 33
    page.locator("#own-choice button").click()
    answered(page)
    assert {key.replace("_", "-"): value for key, value in choice.items()}.items() <= state(
        page
    ).items()
    assert say(page, "#verdict") == fit(*_FLAGS[:-2], *card, "--fit", "on")["verdict"]


@pytest.mark.parametrize(
    "question", [QUESTION, "model=gpt-oss-20b&runtime=llama.cpp&ctx=4096&fit=on&gpu=h200"]
)
def test_no_option_is_refused(page, question):
    ask(page, question)
    found = page.evaluate(EVERY_OPTION)
    refused = [line for line in found["refused"] if not line.startswith("f-runtime=")]
    assert refused == [], "but for runtimes that do not read the model"
    assert found["tried"] > 30


def test_the_explorer_goes_along_its_sizes(page):
    ask(page, QUESTION)
    settled(page)
    assert page.locator("#axes label").all_inner_texts() == ["context", "slots", "GPU layers"]
    assert page.evaluate("vramfitPage.explorer.axis") == "ctx"
    assert "tokens in a context" in page.locator("#curve").text_content()
    found = fit(*_FLAGS, "--max-ctx")
    mine = page.locator("#largest tr.mine td").all_text_contents()
    assert mine[-1] == f"{found['max_ctx']:,}"
    page.locator("#axes input[value=gpu-layers]").check()
    until(page, "vramfitPage.explorer.axis === 'gpu-layers' && vramfitPage.background.idle")
    assert page.evaluate("vramfitPage.explorer.points.at(-1).size") == 33, "it has no more"
    ask(page, START)
    assert page.locator("#axes label").all_inner_texts() == ["batch", "sequence"]


def test_what_it_cannot_be_asked_is_not_offered(page):
    ask(page, QUESTION)
    settled(page)
    assert not page.locator("[data-export=snapshot]").is_visible()
    assert not page.locator("#formulas-part").is_visible()
    assert page.locator("#more-models").get_attribute("hidden") is None
    ask(page, START)
    settled(page)
    assert page.locator("[data-export=snapshot]").is_visible()
    assert page.locator("#formulas-part").is_visible()
    assert not page.locator("#devices").is_visible()
    assert page.locator("#more-models").get_attribute("hidden") is not None


def test_cards_without_cuda_and_of_several_kinds(page):
    ask(page, QUESTION)
    page.locator("#card").select_option("mac-32gb")
    answered(page)
    flags = ["--ctx", "8192", "--gpu"]
    assert state(page, "answer.total") == fit(*_FLAGS[:-2], *flags, "mac-32gb")["total"]
    assert not page.locator("#second").is_visible()
    page.locator("#card").select_option("rtx4090")
    page.locator("#second").select_option("rtx3060-12gb")
    answered(page)
    answer = fit(*_FLAGS[:-2], *flags, "rtx4090,rtx3060-12gb")
    assert state(page, "answer.total") == answer["total"]
    assert state(page)["gpu"] == "rtx4090,rtx3060-12gb"
    page.locator("#card").select_option("several:")
    assert state(page)["gpu"] == "rtx4090,rtx4090,rtx4090"
    page.locator("#machine").fill("rtx4090,rtx3060-12gb,rtx3060-12gb")
    answered(page)
    devices = [one["device"] for one in state(page, "answer.devices")]
    assert devices[:3] == ["GPU 0", "GPU 1", "GPU 2"]
    ask(page, START)
    assert not page.locator("#second").is_visible(), "PyTorch's has none"


def test_a_mac_is_llama_cpps(page):
    ask(page, "model=llama3-8b&train&batch=2&seq=512&gpu=rtx4090")
    page.locator("#card").select_option("mac-32gb")
    answered(page)
    assert state(page) == {
        "model": "llama3-8b",
        "runtime": "llama.cpp",
        "ctx": "512",
        "gpu": "mac-32gb",
    }
    assert say(page, "#verdict") == "FITS"
