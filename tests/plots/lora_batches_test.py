"""What `fit` is asked about LoRA."""

import json
import sys

import pytest
import pytorch_cases as known
from vramfit_plots.lora_batches import kin, largest_lora_batches

ROW = "OomCliff/llama2-7b/int8/adamw/seq:512/lora:16/gpu:rtx4090"


@pytest.mark.parametrize(
    ("row", "stored", "more"),
    [
        (ROW, "bf16 --quant int8", ""),
        (f"{ROW}/checkpoint:full".replace("int8", "bf16"), "bf16", "--checkpoint full "),
    ],
)
def test_a_row_is_asked_as_its_name_says(tmp_path, row, stored, more):
    answer = {**known.answer("pytorch", [], total=1), "max_batch": 7}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    program = tmp_path / "fit"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"pathlib.Path({str(tmp_path / 'asked')!r}).write_text(' '.join(sys.argv[1:]))\n"
        f"print(pathlib.Path({str(tmp_path / 'answer.json')!r}).read_text())\n"
    )
    program.chmod(0o755)
    found = largest_lora_batches(program, [row])
    assert found.at[row, "pytorch_max_batch"] == 7
    assert found.at[row, "pytorch_device_used"] == answer["levels"]["device_used"]
    assert (tmp_path / "asked").read_text() == (
        f"--json --runtime pytorch --train --max-batch --precision {stored} --optimizer adamw "
        f"--model llama2-7b --seq 512 --lora 16 --gpu rtx4090 {more}--lora-targets q_proj,v_proj"
    )


def test_weights_stored_otherwise_and_checkpointing_are_asked_too():
    assert kin([ROW]) == [
        f"{ROW.replace('int8', stored)}{end}"
        for end in ("", "/checkpoint:full")
        for stored in ("bf16", "int8", "nf4")
    ]


def test_nothing_is_asked_where_the_article_has_no_such_column(tmp_path):
    assert largest_lora_batches(tmp_path / "no-such-program", []).empty
