"""A measured run beside a predicted one."""

import re

import pytest
import synthetic
from vramfit_plots.captions import commands, provenance
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import load_inputs
from vramfit_plots.run import newest_comparison, newest_run
from vramfit_plots.sources import MEASURED

ROW = "Inference/llama2-7b/fp16/batch:8/seq:2048"
ONLY_MEASURED = "Training/gpt2-1.5b/bf16/adamw-master/batch:16/seq:1024"


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joined")
    predicted, measured = synthetic.document(), synthetic.document(measured=True)
    predicted["context"]["commit"] = "def5678"
    rows = {row["name"]: row for row in measured["benchmarks"]}
    rows[ROW] |= {"pred_allocated": 1.0, "pred_device_used": 2.0}
    measured["benchmarks"] = [rows[ROW], {**rows[ROW], "name": ONLY_MEASURED}]
    return load_inputs(
        synthetic.write(folder / "predicted.json", predicted),
        data_dir(),
        synthetic.write(folder / "measured.json", measured),
    )


def test_predictions_are_the_newer_programs(joined, inputs):
    assert joined.value(ROW, "pred_allocated") == inputs.value(ROW, "pred_allocated")
    assert joined.value(ROW, "mem_allocated") > joined.value(ROW, "pred_allocated")
    assert joined.value(ONLY_MEASURED, "pred_allocated") == 1.0


def test_what_the_card_loses_rests_on_the_measured_cards_profile(joined, inputs):
    assert joined.value(ROW, "pred_device_used") == 2.0
    other = ROW.replace("batch:8", "batch:1")
    assert joined.value(other, "pred_device_used") == inputs.value(other, "pred_device_used")
    assert joined.value(other, "mem_allocated") is None


def test_no_row_is_lost_and_the_sweeps_order_stays(joined, inputs):
    assert [*joined.run.rows.index] == [*inputs.run.rows.index, ONLY_MEASURED]


def test_both_programs_are_named(joined):
    assert joined.run.measured
    said = provenance(joined)
    assert said["vramfit measured"].endswith("commit abc1234")
    assert said["vramfit predicted"].endswith("commit def5678")


def test_the_newest_run_is_found_by_its_date(tmp_path):
    assert newest_run(tmp_path / "runs") is None
    for folder, date in (("a/1", "2026-01-02T00"), ("b/2", "2026-03-01T00"), ("c/3", "2026-02-01")):
        content = synthetic.document(measured=True)
        content["context"]["date"] = date
        (tmp_path / "runs" / folder).mkdir(parents=True)
        synthetic.write(tmp_path / "runs" / folder / "run.json", content)
    assert newest_run(tmp_path / "runs") == tmp_path / "runs/b/2/run.json"


def test_a_comparison_is_no_run(tmp_path):
    folder = tmp_path / "runs/h200/580"
    folder.mkdir(parents=True)
    content = synthetic.document(measured=True)
    for name, date in (("a", "2026-01"), ("a-compare", "2026-02"), ("b-compare", "2026-03")):
        content["context"]["date"] = date
        synthetic.write(folder / f"{name}.json", content)
    assert newest_run(tmp_path / "runs") == folder / "a.json"
    assert newest_comparison(tmp_path / "runs") == folder / "b-compare.json"
    assert newest_comparison(tmp_path) is None


def test_a_measured_run_that_is_named_is_set_beside_the_other(tmp_path, taken):
    predicted = synthetic.write(tmp_path / "predicted.json", synthetic.document())
    run = synthetic.write(tmp_path / "run.json", synthetic.document(measured=True))
    inputs = taken("--run", str(predicted), "--measured", str(run))
    assert inputs.run.path == run
    assert commands(inputs, tmp_path) == [f"make tables RUN={run} SOURCE=measured"]


def test_the_report_has_a_measured_column(full):
    assert "measured on one, two and four NVIDIA H200s" in (full / "index.html").read_text()
    assert MEASURED.heading in (full / "fragments/table1_sources.md").read_text()
    made = (full / "made.html").read_text().replace('<pre tabindex="0">', "\n")
    assert re.search(r"^make tables RUN=\S+measured\.json SOURCE=measured$", made, re.MULTILINE)
