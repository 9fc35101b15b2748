import re
import shutil

import pytest
import synthetic
from vramfit_plots.__main__ import main
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


def test_the_page_needs_nothing_else(report):
    page = (report / "tables.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == len(PICTURES)
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "<script" not in page
    assert page.count("<table") >= 4


def test_the_page_says_what_is_wrong_second_and_where_it_comes_from_once(report):
    page = (report / "tables.html").read_text()
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[0].endswith("tables")
    assert headings[1] == "Where the article is wrong"
    assert headings[-1] == "How this was made"
    body = page[: page.index("<h2>How this was made")]
    assert "commit abc1234" not in body
    assert "build/bench" not in body
    assert page.index("commit abc1234") > page.index("How this was made")


def test_no_cell_holds_figures_of_several_sources(report):
    for path in (report / "fragments").glob("*.md"):
        cells = path.read_text().replace(" | ", "").replace("---", "")
        assert "\\|" not in cells, path.name


def test_the_page_suits_dark_screens_narrow_ones_and_paper(report):
    page = (report / "tables.html").read_text()
    for query in ("prefers-color-scheme: dark", "max-width: 600px", "print"):
        assert f"@media {query}" in page or f"({query})" in page, query
    assert page.count('<div class="scroll">') >= page.count("<table")
    assert "overflow-wrap: anywhere" not in page  # words are never split


def test_markdown_shows_the_pictures(report):
    text = (report / "tables.md").read_text()
    for path in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (report / path).exists()
    assert text.count("](figures/") == len(PICTURES)
    assert "not yet" not in text


def test_the_same_run_makes_the_same_report_and_says_where(report, tmp_path, capsys):
    assert synthetic.report(tmp_path) == 0
    assert str(tmp_path / "report" / "tables.html") in capsys.readouterr().out
    for name in PICTURES:
        one = (report / "figures" / f"{name}.svg").read_bytes()
        assert one == (tmp_path / "report" / "figures" / f"{name}.svg").read_bytes()


def test_a_picture_that_cannot_be_drawn_is_not_an_older_one(tmp_path):
    content = synthetic.document()
    stale = tmp_path / "report" / "figures"
    stale.mkdir(parents=True)
    for name in PICTURES:
        (stale / f"{name}.png").write_text("of an older run")
    content["benchmarks"] = [
        b for b in content["benchmarks"] if b["name"].startswith(("Inference", "Article"))
    ]
    assert synthetic.report(tmp_path, content) == 0
    figures = {path.stem for path in (tmp_path / "report" / "figures").iterdir()}
    of_pytorch = {"checkpointing", "lora", "scaling", "releases"}  # which data/ has
    assert figures == {"article", "inference", "multi_gpu", "precisions", "levels", *of_pytorch}
    page = (tmp_path / "report" / "tables.html").read_text()
    assert "Not drawn: this run does not hold Training/llama2-7b/fp16/adamw/batch:4" in page
    assert "too few rows to tell about" in page


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


def test_a_picture_with_much_in_it_is_as_wide_as_the_page(report):
    page = (report / "tables.html").read_text()
    large = re.findall(r'<figure class="picture large">\s*<div[^>]*><img [^>]*alt="([^"]*)"', page)
    assert [alt.split(":")[0] for alt in large][1:] == ["7B FP16+Adam on 80 GB"]
    assert "Largest batch: vramfit, 16-bit adamw" in large[1]
    tables = page[page.index('<div class="article"') :]
    assert tables.count("Largest batch: vramfit") == 1
