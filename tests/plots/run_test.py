import json
import math

import pytest
import synthetic
from vramfit_plots.files import BadInputError
from vramfit_plots.run import load_run, peak_stage, row_name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Training/m/fp16/adamw/batch:4/seq:512", "Training/m/fp16/adamw/batch:4/seq:512"),
        (
            "Training/m/fp16/adamw/batch:4/seq:512/iterations:1",
            "Training/m/fp16/adamw/batch:4/seq:512",
        ),
        ("KvCache/m/fp16/batch:4/seq:5/iterations:1/manual_time", "KvCache/m/fp16/batch:4/seq:5"),
        ("OomCliff/m/fp16/sgd/seq:512/gpu:h200", "OomCliff/m/fp16/sgd/seq:512/gpu:h200"),
    ],
)
def test_a_row_is_named_without_how_it_ran(given, expected):
    assert row_name(given) == expected


def test_the_peak_is_read_off_the_label():
    label = "predicted, virtual:h200; out of memory in forward of step 2; peak in loaded"
    assert peak_stage(label) == "loaded"
    assert peak_stage("predicted") == ""


def test_a_counter_or_row_that_is_left_out_is_absent(tmp_path):
    content = synthetic.document()
    content["benchmarks"] = content["benchmarks"][:4]
    first, _, third, _ = content["benchmarks"]
    del first["pytorch_allocated"]
    third["run_type"] = "aggregate"
    run = load_run(synthetic.write(tmp_path / "run.json", content))

    assert run.rows["pytorch_allocated"].isna().sum() == 1
    assert third["name"] not in run.rows.index
    assert len(run.rows) == len(content["benchmarks"]) - 1


def test_time_is_in_milliseconds_whatever_its_unit(tmp_path):
    content = synthetic.document()
    content["benchmarks"] = content["benchmarks"][:2]
    content["benchmarks"][0] |= {"cpu_time": 1500.0, "time_unit": "us"}
    content["benchmarks"][1] |= {"cpu_time": 0.25, "time_unit": "s"}
    run = load_run(synthetic.write(tmp_path / "run.json", content))
    assert run.rows["milliseconds"].tolist() == [1.5, 250.0]


def text(benchmarks: list | None = None, **context) -> str:
    content = synthetic.document()
    content["context"] |= context
    content["benchmarks"] = content["benchmarks"][:1] if benchmarks is None else benchmarks
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ('{"benchmarks": [', "not JSON"),
        ("[]", "should be an object"),
        ('{"context": {}}', "no 'benchmarks'"),
        ('{"context": {}, "benchmarks": []}', "context: no 'date'"),
        (text(benchmarks=[]), "no rows"),
        (text(benchmarks=[{}]), r"benchmarks\[0\]: no 'name'"),
        (text(schema_version="2"), "schema_version"),
        (
            text([{**synthetic.document()["benchmarks"][0], "params": math.nan}]),
            "params: should be",
        ),
        (text(device=5), "context.device: should be a text"),
    ],
)
def test_a_file_that_is_no_run_is_refused_by_name(tmp_path, text, complaint):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match=complaint) as error:
        load_run(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(BadInputError, match=r"no such file.*--benchmark_out=FILE"):
        load_run(tmp_path / "none.json")


def test_context_values_are_texts(tmp_path):
    content = synthetic.document()
    content["context"]["num_cpus"] = 2
    assert load_run(synthetic.write(tmp_path / "run.json", content)).context["num_cpus"] == "2"
