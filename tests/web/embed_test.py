"""The page as others have it: by keyboard and screen reader, framed, without scripts, locked in."""

import gzip
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe
from page import SITE, START, address, ask, opened, say, settled, until

COMPRESSED = 2_000_000  # bytes at most, of which tapes of 31 families are 470,000


@pytest.fixture(scope="module")
def unlocked(browser):
    """Without the page's policy: axe is a script of its own."""
    page = opened(browser, bypass_csp=True)
    yield page
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1600, "light")])
@pytest.mark.parametrize(
    "question", ["", "calculator", "explorer", "model=llama2-7b&gpu=h200&runtime=vramfit"]
)
def test_axe_objects_to_nothing(unlocked, width, scheme, question):
    page = unlocked
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    ask(page, question)
    settled(page)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    if question != "calculator":
        page.locator("#step").click()
    page.wait_for_timeout(400)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_by_keyboard_alone(fresh):
    page = fresh
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "verdict"
    settled(page)
    page.locator("#play").focus()
    page.keyboard.press("Enter")
    assert page.locator("#play").get_attribute("aria-pressed") == "true" or say(page, "#walk-says")
    focusable = page.evaluate(
        """() => [...document.querySelectorAll('select, input, button, summary, textarea')]
          .filter((e) => e.offsetParent && !e.disabled && e.tabIndex < 0).length"""
    )
    assert focusable == 0


def test_the_verdict_is_said_aloud_once_it_stays(fresh):
    page = fresh
    page.locator("#s-batch").press("ArrowRight")
    until(page, "document.querySelector('#aloud').textContent.startsWith('OOM: ')")
    assert page.locator("#aloud").get_attribute("role") == "status"


def test_without_motion_nothing_moves(browser):
    moving = {}
    for motion in ("reduce", "no-preference"):
        page = opened(browser, reduced_motion=motion)
        moving[motion] = page.evaluate(
            """[...document.querySelectorAll('*')]
              .some((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0)"""
        )
        page.context.close()
    assert moving == {"reduce": False, "no-preference": True}


def test_what_the_policy_allows(browser):
    page = opened(browser)
    tried = page.evaluate(
        """async () => {
          const blocked = [];
          document.addEventListener('securitypolicyviolation',
            (event) => blocked.push(event.effectiveDirective));
          const attempt = async (task) => { try { await task(); } catch {} };
          await attempt(() => eval('1'));
          await attempt(() => fetch('https://example.org/'));
          const add = (tag, set) =>
            document.head.append(Object.assign(document.createElement(tag), set));
          add('script', { textContent: 'globalThis.injected = 1' });
          add('style', { textContent: 'body { display: none }' });
          document.body.append(Object.assign(new Image(), { src: 'https://example.org/x.png' }));
          await new Promise((resolve) => setTimeout(resolve, 200));
          return { blocked, injected: globalThis.injected };
        }"""
    )
    assert tried["blocked"].count("connect-src") == 1
    assert {"img-src", "script-src-elem", "style-src-elem"} <= set(tried["blocked"])
    assert tried.get("injected") is None
    page.context.close()


def test_nothing_is_loaded_from_elsewhere(browser):
    context = browser.new_context()
    asked = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(address())
    until(page, "Boolean(globalThis.vramfitPage)")
    settled(page)
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    assert context.cookies() == []
    context.close()


@pytest.mark.parametrize("view", ["calculator", "explorer"])
def test_an_interactive_embeds(browser, tmp_path, view):
    (tmp_path / "post.html").write_text(
        f'<iframe src="{address(view + "&" + START)}" width="700" height="800"'
        ' sandbox="allow-scripts"></iframe>'
    )
    page = browser.new_page()
    page.goto((tmp_path / "post.html").as_uri())
    frame = page.frame_locator("iframe")
    shown = {name: frame.locator(f"#{name}") for name in ("calculator", "explorer")}
    shown[view].wait_for(state="visible")
    other = next(name for name in shown if name != view)
    assert not shown[other].is_visible()
    if view == "calculator":
        frame.locator("#verdict.oom").wait_for()
    else:
        frame.locator("#curve .total-line").wait_for()
    page.close()


def test_without_scripts_pictures_stand_there(browser):
    for view, stills in (("", ["calculator", "explorer"]), ("explorer", ["explorer"])):
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(address(view))
        seen = [
            name
            for name in ("calculator", "explorer")
            if page.locator(f"#still-{name} svg").is_visible()
        ]
        assert seen == stills
        page.context.close()


def test_page_and_module_are_small():
    for name in ("index.html", "vramfit.wasm"):
        assert len(gzip.compress((SITE / name).read_bytes(), 9)) < COMPRESSED


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_the_module_answers_other_pages(browser, served):
    page = browser.new_page()
    page.goto(f"{served}/vramfit.mjs")
    answer = page.evaluate(
        """async () => {
          const { BadInput, load } = await import('/vramfit.mjs');
          const vramfit = await load();
          const flags = { model: 'llama2-7b', batch: 8, seq: 2048, gpu: 'rtx4090' };
          let refused;
          try { vramfit.ask({ ...flags, batch: 0 }); }
          catch (error) { refused = error instanceof BadInput; }
          const { models, cards } = vramfit.catalogue();
          const again = await load(vramfit.module);
          const soFar = [];
          const asked = { ...flags, train: true, advise: true };
          const advised = vramfit.ask(asked, (told) => soFar.push(told));
          return {
            verdict: vramfit.ask(flags).verdict, refused,
            models: models.length, cards: cards.length,
            same: again.json(flags) === vramfit.json(flags),
            told: soFar.map(({ advice }) => advice.length), ways: advised.advice.length,
            bytes: vramfit.snapshot(flags).length,
            traced: JSON.parse(vramfit.trace(flags)).traceEvents.length > 0,
          };
        }"""
    )
    assert answer["verdict"] in ("FITS", "TIGHT", "OOM")
    assert answer["refused"] and answer["same"] and answer["traced"]
    assert len(answer["told"]) > 1 and answer["told"] == sorted(answer["told"])
    assert answer["told"][-1] == answer["ways"] > 0
    assert answer["models"] > 20 and answer["cards"] > 30 and answer["bytes"] > 1000
    page.close()
