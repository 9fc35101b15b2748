"""Types of causal language models, small, on the stand-in: those that ran run."""

import pytest
from breadth import table
from breadth.__main__ import no_gpu, played
from breadth.lines import failures, kept, line_of, lost
from stood_in import EXACT, ROOT, needs_torch
from vramfit_plots.tables import markdown_fragment

# Of each kind of architecture one, and one that no GPU runs.
PLAYED = ("qwen3_moe", "gpt_oss", "deepseek_v3", "qwen3_next", "mamba2", "git")


@pytest.fixture(scope="module")
def lines():
    found = {each["type"]: each for each in played(EXACT, types=PLAYED)}
    failed = [kind for kind in PLAYED if failures(found[kind])]
    on_cpu = {each["type"]: each for each in played(EXACT, types=failed, facts=no_gpu())}
    return {kind: line_of(found[kind], on_cpu.get(kind)) for kind in PLAYED}


@needs_torch
@pytest.mark.parametrize("kind", PLAYED)
def test_what_ran_runs(lines, kind):
    assert lost(kept(), [lines[kind]]) == []


@needs_torch
def test_it_takes_what_it_took(lines):
    before = {line["type"]: line for line in kept()}
    for kind, line in lines.items():
        assert line == before[kind]


@needs_torch
def test_what_a_cpu_does_not_run_either_is_told(lines):
    assert lines["git"]["training"]["on_cpu"] == lines["git"]["training"]["error"]


def test_most_types_run():
    lines = kept()
    assert sum(not failures(line) for line in lines) >= 0.85 * len(lines)
    assert all(line[part]["on_cpu"] for line in lines for part in failures(line))


def test_the_docs_show_these_lines():
    shown = (ROOT / "docs" / "breadth.md").read_text()
    assert markdown_fragment(table.build(kept())) in shown, "`make breadth`, and take breadth.md"
    run = sum(not failures(line) for line in kept())
    readme = (ROOT / "README.md").read_text()
    assert f"transformers' {len(kept())} types of causal language models" in readme
    assert f"{run} of them run" in readme


def line(runs, on_cpu=None):
    part = {"runs": True, "peak": 1, "assumed": []}
    if not runs:
        part = {"runs": False, "error": "ValueError: no", "where": "a.py:1", "on_cpu": on_cpu}
    return {"type": "a", "precision": "bf16", "training": part, "generation": part}


def test_what_does_not_run_any_more_is_found():
    assert lost([line(True)], [line(False)]) == [
        "a, training: ValueError: no (a.py:1)",
        "a, generation: ValueError: no (a.py:1)",
    ]
    assert lost([line(False)], [line(False)]) == lost([], [line(False)]) == []


def test_whose_fault_it_is_stands_in_the_table():
    [theirs] = table.build([line(False, on_cpu="ValueError: no")]).rows
    [ours] = table.build([line(False)]).rows
    assert theirs[1:4] == ["no", "no", "ValueError: no; on a CPU too"]
    assert ours[1:4] == ["not here", "not here", "ValueError: no; on a CPU it runs"]
