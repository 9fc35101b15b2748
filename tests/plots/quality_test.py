"""A trained model's perplexity: Table 1's column, the tables and the curves."""

import dataclasses
import json
import math

import pytest
from vramfit_plots.files import AbsentError, BadInputError, data_dir
from vramfit_plots.inputs import Inputs
from vramfit_plots.quality import Quality, Score, Tuned, load_quality
from vramfit_plots.sources import ARTICLE, OURS, THEIRS
from vramfit_plots.topics import inference, quality

COURSE = {
    "model": "gpt2-124m",
    "batch": 64,
    "seq": 1024,
    "steps": 4,
    "score": {"prompt": 512},
    "tuning": {"steps": 150, "batch": 16},
}
FACTS = dict.fromkeys(("gpu", "driver", "torch", "transformers", "commit", "command"), "a word")
PERPLEXITIES = {"fp32": 20.0, "fp16": 20.0, "bf16": 20.0, "fp8": 20.2, "int8": 20.4, "int4": 21.0}
TRAINED = Quality(
    facts={**FACTS, "gpu": "NVIDIA H200"},
    course=COURSE,
    losses={"vramfit": [9.0, 8.0, 7.0, 6.0], "PyTorch": [9.001, 7.996]},
    held_out=[(0, 10.8), (2, 7.5), (4, 3.0)],
    scores=[
        *(Score(name, "unquantized", math.log(p), 900) for name, p in PERPLEXITIES.items()),
        Score("bf16", "int8", math.log(20.1), 900),
    ],
    tuned=[
        Tuned("lora-nf4", "nf4", 16, math.log(30.0), math.log(15.0)),
        Tuned("all", "bf16", 0, math.log(29.0), math.log(14.5)),
    ],
)


@pytest.fixture
def trained(measured) -> Inputs:
    return dataclasses.replace(measured, quality=TRAINED)


@pytest.fixture
def untrained(measured) -> Inputs:
    return dataclasses.replace(measured, quality=None)


def test_table_1_gains_the_column_where_a_model_was_trained(trained, untrained):
    with_it, without = (inference.build(inputs)[0] for inputs in (trained, untrained))
    assert with_it.headings == [*without.headings, "perplexity\ngpt2-124m"]
    assert [row[:-1] for row in with_it.rows] == without.rows
    column = {row[0]: row[-1] for row in with_it.rows}
    assert column["BF16"].split("\n")[0] == "20.00"
    assert column["INT8"].split("\n") == ["20.40", "+2.00\N{NO-BREAK SPACE}%"]
    assert column["FP8"].split("\n")[1] == "+1.00\N{NO-BREAK SPACE}%"
    assert "gpt2-124m that vramfit trained" in with_it.note
    assert "erplexity" not in without.note


def test_the_article_and_pytorch_have_no_such_column(trained):
    own = inference.own(trained)
    for among in ((ARTICLE,), THEIRS):
        beside = own.beside(among)
        assert beside is None or "perplexity\ngpt2-124m" not in beside.headings, among
    assert "perplexity\ngpt2-124m" in own.beside(OURS).headings


def test_every_format_and_cache_is_a_row(trained):
    formats, tuning = quality.build(trained)
    assert len(formats.rows) == len(TRAINED.scores)
    assert formats.rows[-1] == ["bf16", "int8", "20.100", "+0.50\N{NO-BREAK SPACE}%"]
    assert [row[0] for row in tuning.rows] == ["LoRA of rank 16", "everything"]
    assert tuning.rows[0][2:] == ["30.000", "15.000", "\N{MINUS SIGN}50.0\N{NO-BREAK SPACE}%"]
    assert "NVIDIA H200" in formats.note


def test_the_curves_lie_on_each_other(trained):
    picture = quality.draw(trained)
    whole, first = picture.figure.axes
    assert "within 0.004 nats" in picture.title
    assert list(whole.lines[0].get_ydata()) == TRAINED.losses["vramfit"]
    assert whole.lines[0].get_xdata()[0] == pytest.approx(0.065536)
    theirs, ours = first.lines
    assert list(theirs.get_ydata()) == TRAINED.losses["PyTorch"]
    assert list(ours.get_ydata()) == TRAINED.losses["vramfit"][:2]


def test_nothing_is_made_up_where_nothing_was_trained(untrained):
    for make in (quality.build, quality.draw):
        with pytest.raises(AbsentError, match=r"results\.json"):
            make(untrained)


def test_a_file_of_results_is_read_and_checked(tmp_path):
    path = tmp_path / "results.json"
    held_out = [list(one) for one in TRAINED.held_out]
    content = {**dataclasses.asdict(TRAINED), "held_out": held_out}
    path.write_text(json.dumps(content))
    assert load_quality(path) == TRAINED
    path.write_text(json.dumps({**content, "scores": [{"precision": "bf16"}]}))
    with pytest.raises(BadInputError, match=r"results\.json: scores"):
        load_quality(path)


def test_the_kept_results_are_whole():
    """Where the model was trained: of the whole course, and every format."""
    path = data_dir() / "quality" / "results.json"
    if not path.exists():
        pytest.skip("no model was trained yet")
    kept = load_quality(path)
    assert len(kept.losses["vramfit"]) == kept.course["steps"]
    rows = kept.course["score"]["rows"]
    asked = {(precision, row["cache"]) for row in rows for precision in row["precisions"]}
    assert {(score.precision, score.cache) for score in kept.scores} == asked
    assert [one.name for one in kept.tuned] == [c["name"] for c in kept.course["tuning"]["courses"]]
