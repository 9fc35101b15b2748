"""What PyTorch takes under strategies of which bench predicts nothing, asked of `fit`."""

import json
import sys
from pathlib import Path

import pytest
import pytorch_cases as known
from vramfit_plots.accuracy.spread import predicted
from vramfit_plots.files import BadInputError

ROW = "MultiGpu/llama2-13b/bf16/adamw-same/pipeline/batch:1/seq:2048/gpus:2/accumulate:8"
THEIRS = {"adamw-same": "adamw-fused"}


def program(folder: Path) -> Path:
    """It notes what it is asked."""
    stages = [
        {"name": name, "step": step, "before": 0, **known.reading(allocated)}
        for name, step, allocated in (("loaded", 0, 5), ("forward", 1, 7), ("optimizer", 1, 11))
    ]
    stages = [{**stage, "after": stage.pop("alloc")} for stage in stages]
    answer = json.dumps(known.answer("pytorch", stages, total=20))
    path = folder / "fit"
    noted = str(folder / "asked")
    path.write_text(
        f"#!{sys.executable}\nimport sys\nopen({noted!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        f"print({answer!r})\n"
    )
    path.chmod(0o755)
    return path


def test_a_pipeline_is_asked_for_as_its_row_says(tmp_path):
    found = predicted(program(tmp_path), [ROW], THEIRS, "h200")
    assert found.loc[ROW].to_dict() == {
        "pytorch_step1_forward_after": 7,
        "pytorch_step1_optimizer_after": 11,
    }
    asked = (tmp_path / "asked").read_text()
    assert "--optimizer adamw-fused" in asked
    assert "--gpus 2 --strategy pipeline --accumulate 8" in asked


def test_an_optimizer_that_pytorch_does_not_have_is_not_asked_for(tmp_path):
    assert predicted(tmp_path / "none", [ROW.replace("adamw-same", "lion")], THEIRS, "h200").empty


def test_a_program_that_cannot_answer_is_named(tmp_path):
    with pytest.raises(BadInputError, match="none"):
        predicted(tmp_path / "none", [ROW], THEIRS, "h200")
