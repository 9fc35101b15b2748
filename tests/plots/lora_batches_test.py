"""What `fit` is asked about LoRA."""

import json
import sys

import pytorch_cases as known
from vramfit_plots.lora_batches import largest_lora_batches

ROW = "OomCliff/llama2-7b/bf16/adamw-same/seq:512/lora:16/gpu:rtx4090"


def test_a_row_is_asked_as_its_name_says(tmp_path):
    answer = {**known.answer("pytorch", [], total=1), "max_batch": 7}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    program = tmp_path / "fit"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"pathlib.Path({str(tmp_path / 'asked')!r}).write_text(' '.join(sys.argv[1:]))\n"
        f"print(pathlib.Path({str(tmp_path / 'answer.json')!r}).read_text())\n"
    )
    program.chmod(0o755)
    found = largest_lora_batches(program, [ROW])
    assert found.at[ROW, "pytorch_max_batch"] == 7
    assert (tmp_path / "asked").read_text() == (
        "--json --runtime pytorch --train --max-batch --optimizer adamw-fused --model llama2-7b "
        "--precision bf16 --seq 512 --lora 16 --gpu rtx4090 --lora-targets q_proj,v_proj"
    )


def test_nothing_is_asked_where_the_article_has_no_such_column(tmp_path):
    assert largest_lora_batches(tmp_path / "no-such-program", []).empty
