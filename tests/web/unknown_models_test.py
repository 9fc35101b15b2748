"""Models that the page does not know: pasted, dropped, fetched, hostile."""

import json
import subprocess

import built
import pytest
from page import linked, opened, say, state, until

TINY = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}


def test_a_pasted_config(fresh):
    page = fresh
    page.locator("#model").select_option("config:")
    page.locator("#config-text").fill(json.dumps(TINY, indent=2))
    assert state(page, "answer.model.layers") == 4
    assert "--config config.json" in say(page, "#command")
    linked(page)
    url = page.url
    page.goto("about:blank")
    page.goto(url)
    until(page, "Boolean(globalThis.vramfitPage)")
    assert state(page, "answer.model.layers") == 4


def test_a_dropped_config(page):
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], 'config.json'));
          document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));
        }""",
        json.dumps(TINY),
    )
    until(page, "vramfitPage.state.answer?.model.hidden === 256")


HOSTILE = [
    "",
    "{",
    "null",
    "[]",
    '"x"',
    "{}",
    '{"model_type": "llama"}',
    "[" * 100_000,
    json.dumps({**TINY, "num_hidden_layers": -1}),
    json.dumps({**TINY, "vocab_size": 1 << 62}),
    json.dumps({**TINY, "hidden_size": "256"}),
    json.dumps({**TINY, "model_type": "<img src=x>"}),
    json.dumps({**TINY, "num_attention_heads": 0}),
    json.dumps({**TINY, "hidden_size": 1e300}),
    json.dumps(TINY)[:-1] + ', "__proto__": {"model_type": "gpt2"}, "num_hidden_layers": 1e99}',
    json.dumps({**TINY, "model_type": "no_such_type"}),
    "\u0000",
    '{"model_type": "\\ud800"}',
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_config_gets_the_readers_one_line(page, tmp_path, text):
    page.locator("#model").select_option("config:")
    page.evaluate(
        """(text) => {
          const area = document.querySelector('#config-text');
          area.value = text || ' ';
          area.dispatchEvent(new Event('input'));
          vramfitPage.state.change({ train: true, gpu: 'rtx4090', config: text });
        }""",
        text,
    )
    (tmp_path / "config.json").write_text(text)
    run = subprocess.run(
        [built.program("fit"), "--config", tmp_path / "config.json", "--train", "--gpu", "rtx4090"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert run.returncode == 2
    said = say(page, "#reason")
    assert say(page, "#verdict") == "No answer" and said and "\n" not in said
    # Alike but for where it was read: a path, or nothing.
    theirs = run.stderr.strip().removeprefix("vramfit: error: ")
    theirs = theirs.replace(str(tmp_path / "config.json"), "")
    assert said.split()[-3:] == theirs.split()[-3:]
    page.locator("#model").select_option("gpt2-124m")
    assert say(page, "#verdict") == "FITS"


def test_an_id_of_the_hub_is_fetched(fresh):
    page = fresh
    fetched = []

    def answer(route):
        fetched.append(route.request.url)
        route.fulfill(json=TINY, headers={"access-control-allow-origin": "*"})

    page.context.route("https://huggingface.co/**", answer)
    page.locator("#model").select_option("hub:")
    page.locator("#hub-id").fill("someone/tiny")
    page.locator("#hub-fetch").click()
    until(page, "vramfitPage.state.answer?.model.hidden === 256")
    assert fetched == ["https://huggingface.co/someone/tiny/resolve/main/config.json"]
    assert say(page, "#what-runs").startswith("someone/tiny, training")
    assert "--model someone/tiny" in say(page, "#command")
    page.locator("#hub-id").fill("meta-llama/Llama-2-13b-hf")  # shipped: nothing is fetched
    page.locator("#hub-id").press("Enter")
    until(page, "vramfitPage.state.answer?.model.name === 'llama2-13b'")
    assert len(fetched) == 1


def test_without_a_network_the_hub_says_so(browser):
    page = opened(browser)
    page.context.route("https://huggingface.co/**", lambda route: route.abort())
    page.locator("#model").select_option("hub:")
    page.locator("#hub-id").fill("someone/tiny")
    page.locator("#hub-fetch").click()
    until(page, "document.querySelector('#model-note').textContent.includes('cannot be reached')")
    page.locator("#hub-id").fill("not an id")
    page.locator("#hub-fetch").click()
    until(page, "document.querySelector('#model-note').textContent.startsWith('an id is')")
    page.context.close()
