import contextlib
import re
import shutil
from pathlib import Path

import pytest
import synthetic
from matplotlib.backends.backend_agg import FigureCanvasAgg
from vramfit_plots.__main__ import main
from vramfit_plots.figures import picture, style
from vramfit_plots.files import data_dir
from vramfit_plots.report import chapters

_DRAWN = {name for name, topic in chapters().items() if hasattr(topic, "draw")}
PICTURES = _DRAWN - {"accuracy", "rounding", "ops"}  # which a predicted run does not have


def test_every_file_is_there(report):
    for name in PICTURES:
        assert (report / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (report / "figures" / f"{name}.svg").read_text()
    for number in range(1, 5):
        for suffix in ("html", "md"):
            assert (report / "fragments" / f"table{number}.{suffix}").read_text()


def _pages(report):
    return {path.name: path.read_text() for path in report.glob("*.html")}


def test_pages_need_nothing_but_their_folder(report):
    """It can be packed, sent and opened anywhere."""
    for name, page in _pages(report).items():
        assert "<script" not in page
        for link in re.findall(r'(?:src|href)="([^"]+)"', page):
            assert (report / link.partition("#")[0]).is_file() or link.startswith("#"), (name, link)


def test_the_index_opens_with_the_articles_tables_beside_others(report):
    index = (report / "index.html").read_text()
    titles = re.findall(r"<h2>(.*?)</h2>", index)
    assert [title[:7] for title in titles] == [*(f"Table {i}" for i in range(1, 5)), "Further"]
    first = index[: index.index('<section id="table2">')]
    heads = re.findall(r"<h3>(.*?)</h3>", first)
    assert heads == ["The article", "vramfit predicted", "PyTorch measured"]
    rows = [re.findall(r"<tr>.*FP32.*</tr>", part)[0] for part in first.split("<h3>")[1:]]
    assert ">28.0<" in rows[0]
    assert 'class="off"' not in rows[0]
    assert 'class="off"' in rows[1], "27.6 GB are more than 5 % off 29.1"


def test_the_index_leads_to_every_page(report):
    pages = _pages(report)
    index = pages.pop("index.html")
    direct = set(re.findall(r'href="([^"#]+\.html)"', index))
    further = {
        link for name in direct for link in re.findall(r'href="([^"#]+\.html)"', pages[name])
    }
    assert pages.keys() == (direct | further) - {"index.html"}
    groups = re.findall(r"<h3>(.*?)</h3>", index[index.index('<nav id="index"') :])
    assert groups[0] == "The article"
    assert "More" not in groups, "every topic has its heading"
    assert len(re.findall("<li>", index)) <= 25, "an index is short"


def test_pages_are_small(report):
    """One topic each. Rows by the hundred are tables of their own."""
    for name, page in _pages(report).items():
        if 'class="wide' not in page:
            assert len(page) < 60_000, name


def test_where_figures_come_from_is_said_once(report):
    pages = _pages(report)
    assert "commit abc1234" in pages.pop("made.html")
    for name, page in pages.items():
        assert "commit abc1234" not in page, name
        assert "build/bench" not in page, name


def test_no_cell_holds_figures_of_several_sources(report):
    for path in (report / "fragments").glob("*.md"):
        cells = path.read_text().replace(" | ", "").replace("---", "")
        assert "\\|" not in cells, path.name


def test_pages_suit_dark_screens_narrow_ones_and_paper(report):
    style = (report / "report.css").read_text()
    for query in ("prefers-color-scheme: dark", "max-width: 600px", "print"):
        assert f"@media {query}" in style or f"({query})" in style, query
    for name, page in _pages(report).items():
        assert page.count('class="scroll"') >= page.count("<table"), name


def test_a_phone_has_pictures_of_its_own(report):
    """As wide as it is: panels below each other, words as large as elsewhere."""
    for path in (report / "figures" / "narrow").glob("*.svg"):
        wide = (report / "figures" / path.name).read_text()
        widths = [
            float(re.search(r'width="([\d.]+)pt"', svg)[1]) for svg in (path.read_text(), wide)
        ]
        assert widths[0] == pytest.approx(3.9 * 72), path.name
        assert widths[1] > widths[0], path.name
    index = (report / "index.html").read_text()
    sources = re.findall(r'media="\(max-width: 600px\)" srcset="([^"]+)"', index)
    assert len(sources) == 4
    assert all((report / source).is_file() for source in sources)


def test_pictures_follow_dark_screens(report):
    for path in (report / "figures").rglob("*.svg"):
        svg = path.read_text()
        assert "@media screen and (prefers-color-scheme: dark)" in svg, path.name
        assert f"fill: {style.INK}" in svg, path.name


@pytest.fixture(scope="session")
def again(once) -> Path:
    """The same report into a folder that holds an older one's page and somebody else's; what the
    program printed is beside it."""

    def fill(folder: Path) -> None:
        (folder / "report").mkdir()
        generator = '<meta name="generator" content="vramfit_plots">'
        (folder / "report" / "latency.html").write_text(generator)
        (folder / "report" / "mine.html").write_text("<p>Somebody else's")
        with (folder / "said").open("w") as said, contextlib.redirect_stdout(said):
            assert synthetic.report(folder) == 0

    return once("of-predictions-again", fill)


def test_the_same_run_makes_the_same_report(report, again):
    for name in PICTURES:
        one = (report / "figures" / f"{name}.svg").read_bytes()
        assert one == (again / "report" / "figures" / f"{name}.svg").read_bytes()


def test_it_says_where_the_report_is(again):
    assert "report/index.html" in (again / "said").read_text()


def test_a_page_that_is_not_made_is_not_an_older_one(again):
    assert not (again / "report" / "latency.html").exists()
    assert (again / "report" / "mine.html").exists()


def test_a_picture_that_cannot_be_drawn_is_not_an_older_one(tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "_svg", lambda *_: "<svg/>")  # painting takes most of the time
    monkeypatch.setattr(FigureCanvasAgg, "print_png", lambda _, path, **__: path.touch())
    content = synthetic.document()
    stale = tmp_path / "report" / "figures"
    stale.mkdir(parents=True)
    for name in PICTURES:
        (stale / f"{name}.png").write_text("of an older run")
    content["benchmarks"] = [
        b for b in content["benchmarks"] if b["name"].startswith(("Inference", "Article"))
    ]
    assert synthetic.report(tmp_path, content) == 0
    figures = {path.stem for path in (tmp_path / "report" / "figures").glob("*.*")}
    kept = {"checkpointing", "lora", "scaling", "releases", "quality"}  # which data/ has
    assert figures == {"article", "inference", "multi_gpu", "precisions", "levels", *kept}
    index = (tmp_path / "report" / "index.html").read_text()
    assert "Not drawn: this run does not hold Training/llama2-7b/fp16/adamw/batch:4" in index
    assert "too few rows to tell about" in (tmp_path / "report" / "wrong.html").read_text()


@pytest.mark.parametrize("text", [None, "{", "[]", '{"context": {}, "benchmarks": []}'])
def test_bad_input_is_one_line_and_exit_2(tmp_path, capsys, text):
    path = tmp_path / "bench.json"
    if text is not None:
        path.write_text(text)
    assert main(["--run", str(path), "--out", str(tmp_path / "report")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("vramfit_plots: error: ")
    assert str(path) in error
    assert error.count("\n") == 1
    assert not (tmp_path / "report").exists()


def test_a_data_folder_that_is_none_is_named(tmp_path, capsys):
    path = synthetic.write(tmp_path / "bench.json", synthetic.document())
    assert main(["--run", str(path), "--data", str(tmp_path / "no")]) == 2
    assert str(tmp_path / "no") in capsys.readouterr().err


def test_data_of_another_shape_is_named(tmp_path, capsys):
    data = tmp_path / "data"
    shutil.copytree(data_dir(), data)
    (data / "gpus.json").write_text('{"schema": 3, "cards": [{"name": "h200"}]}')
    path = synthetic.write(tmp_path / "bench.json", synthetic.document())
    assert main(["--run", str(path), "--data", str(data)]) == 2
    assert re.search(r"gpus\.json: cards\[0\]: no 'title'", capsys.readouterr().err)


def test_a_folder_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "report").write_text("in the way")
    assert synthetic.report(tmp_path) == 2
    assert str(tmp_path / "report") in capsys.readouterr().err
