"""A training step op by op."""

import dataclasses

import pytest
import synthetic
from matplotlib.colors import to_hex
from vramfit_plots.files import AbsentError, data_dir
from vramfit_plots.inputs import load_inputs
from vramfit_plots.topics import ops
from vramfit_plots.topics.ops import measured_steps
from vramfit_plots.units import MINUS, TIMES

CASE = synthetic.OPS_CASE
OTHER = "Ops/gpt2-124m/bf16/adamw-master/batch:8/seq:2048/accumulate:4"


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    content = synthetic.document(measured=True)
    content["benchmarks"] += synthetic.ops(CASE) + synthetic.ops(OTHER)
    run = synthetic.write(tmp_path_factory.mktemp("timed") / "measured.json", content)
    return load_inputs(run, data_dir())


def without(inputs, *rows):
    return dataclasses.replace(
        inputs, run=dataclasses.replace(inputs.run, rows=inputs.run.rows.drop(index=[*rows]))
    )


def plain(rows):
    return [[entry.replace("\N{NO-BREAK SPACE}", " ") for entry in row] for row in rows]


def test_steps_are_in_the_runs_order_their_ops_by_what_they_lose(timed):
    first, second = measured_steps(timed)
    assert first.case == CASE.removeprefix("Ops/")
    assert first.title == f"tinyllama-1.1b bf16 adamw-same, 8 {TIMES} 2048"
    assert second.title == f"gpt2-124m bf16 adamw-master, 8 {TIMES} 2048, accumulate 4"
    assert [op.label for op in first.ops] == [
        "attention_backward",
        "head_loss",
        "linear_forward:qkv",
    ]
    assert sum(op.seconds for op in first.ops) == pytest.approx(first.ops_seconds)
    assert sum(op.bound for op in first.ops) == pytest.approx(first.whole.bound)


def test_a_table_of_all_steps_and_one_of_all_ops(timed):
    every, each = ops.build(timed)
    assert plain(every.rows)[0] == [
        "tinyllama-1.1b/bf16/adamw-same/batch:8/seq:2048",
        "20.00",
        "22.00",
        "18.10",
        "90.5 %",
        "819,200",
        "905,193",
        "4.00",
        "700",
    ]
    assert len(every.rows) == 2
    first = [[row[0].split("\n")[1], *row[1:]] for row in plain(each.rows)[:5]]
    assert first == [
        ["attention_backward", "2", "4.00", "1.00", "25.0 %", "3.00", "18.2 %"],
        ["head_loss", "1", "8.00", "7.00", "87.5 %", "1.00", "36.4 %"],
        ["linear_forward:qkv", "2", "10.00", "10.10", "101.0 %", f"{MINUS}0.10", "45.5 %"],
        ["sum of ops", "5", "22.00", "18.10", "82.3 %", "3.90", "100.0 %"],
        ["step", "5", "20.00", "18.10", "90.5 %", "1.90", "90.9 %"],
    ]
    assert {row[0].split("\n")[0] for row in each.rows} == {
        case.removeprefix("Ops/") for case in (CASE, OTHER)
    }
    assert each.command.endswith("'^Ops/'")


def test_bars_are_what_an_op_must_take_and_what_it_loses(timed):
    picture = ops.draw(timed)
    panels = picture.figure.axes
    assert len(panels) == 2
    widths = [
        [
            patch.get_width()
            for patch in panels[0].patches
            if to_hex(patch.get_facecolor()) == look.color.lower()
        ]
        for look in (ops.BOUND, ops.LOST)
    ]
    share = 100 / 0.022
    assert widths[0] == pytest.approx([0.001 * share, 0.007 * share, 0.010 * share])
    assert widths[1] == pytest.approx([0.003 * share, 0.001 * share, 0])
    said = [text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in panels[0].texts]
    assert said[0] == "3.0 ms lost, 25 % of the bound"
    assert f"{MINUS}0.1 ms, 101 %" in said
    assert "the step: 20.0 ms, 90.5 % of the bound" in said
    assert panels[0].get_xlim()[1] > 45.5


def test_a_step_that_lacks_ops_is_left_out(timed):
    (step,) = measured_steps(without(timed, f"{CASE}/head_loss"))
    assert step.case == OTHER.removeprefix("Ops/")
    nothing = without(timed, f"{CASE}/head_loss", f"{OTHER}/step")
    for make in (ops.build, ops.draw):
        with pytest.raises(AbsentError):
            make(nothing)


def test_they_are_in_the_report_beside_what_is_predicted(full):
    text = (full / "ops.html").read_text()
    assert "<h1>Where a step&#39;s time goes</h1>" in text
    assert 'src="figures/ops.svg"' in text
    assert "<small>attention_backward</small>" in (full / "fragments/ops_each.html").read_text()
