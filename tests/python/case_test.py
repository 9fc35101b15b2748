"""A watched run as a case of the league: it asks the same, and tells nothing private."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import vramfit
from installed import ROOT

RUN = {"model": "gpt2-124m", "train": True, "batch": 2, "seq": 64}
SECRET = "secret"
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
}
PRIVATE = {
    **CONFIG,
    "_name_or_path": f"/home/{SECRET}/model",
    f"{SECRET}_key": 1,
    "architectures": ["LlamaForCausalLM", f"{SECRET}ForCausalLM"],
    "id2label": {"0": SECRET},
}
GIB = 1 << 30


class OutOfMemoryError(RuntimeError):
    pass


@pytest.fixture
def torch(monkeypatch):
    """An H100 of which 1 GiB is gone before the run."""
    card = SimpleNamespace(name="NVIDIA H100 80GB HBM3", total_memory=79 * GIB, major=9, minor=0)
    stand_in = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
    stand_in.version = SimpleNamespace(cuda="13.0")
    stand_in.card = card

    def dump(path):
        vramfit.estimate(**RUN, gpu="h100-80gb").snapshot(path)

    stand_in.cuda = SimpleNamespace(
        is_available=lambda: True,
        synchronize=lambda: None,
        reset_peak_memory_stats=lambda: None,
        mem_get_info=lambda: (78 * GIB, 79 * GIB),
        get_device_properties=lambda _: stand_in.card,
        memory_reserved=lambda: 0,
        max_memory_allocated=lambda: 123,
        max_memory_reserved=lambda: 456,
        memory=SimpleNamespace(_record_memory_history=lambda *_, **__: None, _dump_snapshot=dump),
    )
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    return stand_in


def watched(**more):
    flags = {**RUN, **more}
    with vramfit.watch(
        **{name: value for name, value in flags.items() if value is not None}
    ) as run:
        pass
    return run


def test_a_case_has_what_was_asked_and_what_it_took(torch):
    case = watched(gpu="rtx4090", headroom="1GiB", learning_rate=1e-4).case("somebody")
    assert case["question"] == {**RUN, "gpu": "h100-80gb"}  # the card that it ran on
    assert case["measured"] == {"allocated": 123, "reserved": 456}
    assert case["beside"] == [GIB, GIB]
    assert case["gpu"] == {"name": torch.card.name, "total": 79 * GIB, "capability": "9.0"}
    assert case["versions"]["cuda"] == "13.0"
    assert case["id"].startswith("somebody/")


def test_theirs_words_are_told_as_ours(torch):
    case = watched(
        batch=None,
        per_device_train_batch_size=2,
        gradient_checkpointing=True,
        lora=8,
        lora_targets=["c_attn"],
        torch_dtype="bfloat16",
    ).case()
    assert case["question"] == {
        **RUN,
        "checkpoint": "full",
        "loss_only": True,  # as a Trainer's step
        "lora": 8,
        "lora_targets": "c_attn",
        "precision": "bf16",
        "gpu": "h100-80gb",
    }


def test_of_a_private_model_its_shape_is_told_alone(torch, tmp_path):
    folder = tmp_path / SECRET
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PRIVATE))
    for given in ({"model": str(folder)}, {"config": PRIVATE, "model": None}):
        case = watched(**given).case()
        assert case["question"]["config"] == CONFIG
        assert SECRET not in json.dumps(case)


def test_what_would_ask_another_question_is_refused(torch, monkeypatch):
    """Nothing that memory depends on is left out in silence."""
    monkeypatch.setattr("vramfit._case.CONFIG_KEYS", tuple(CONFIG))
    with pytest.raises(vramfit.BadInput, match="more is private"):
        watched(config={**PRIVATE, "tie_word_embeddings": True}, model=None).case()


def test_a_card_that_nobody_lists_is_its_size(torch):
    torch.card = SimpleNamespace(name="NVIDIA Unheard", total_memory=33 * GIB, major=8, minor=6)
    assert watched().case()["question"] == {**RUN, "vram": 33 * GIB}


def test_a_run_that_had_no_room_is_a_case(torch):
    run = vramfit.watch(**RUN)
    with pytest.raises(OutOfMemoryError), run:
        raise OutOfMemoryError
    case = run.case()
    assert case["outcome"] == "OOM"
    assert "measured" not in case


def test_what_makes_no_case_says_why(torch):
    run = vramfit.watch(**RUN)
    with pytest.raises(vramfit.BadInput, match="case: nothing was recorded yet"):
        run.case()
    with pytest.raises(KeyError), run:
        raise KeyError
    with pytest.raises(vramfit.BadInput, match="case: the run ended in KeyError"):
        run.case()
    with pytest.raises(vramfit.BadInput, match="sender: is 'a b'"):
        watched().case("a b")


def test_a_case_is_as_its_schema_says(torch):
    schema = json.loads((ROOT / "docs" / "schemas" / "league.schema.json").read_text())
    part = {"$defs": schema["$defs"], "$ref": "#/$defs/case", "unevaluatedProperties": False}
    jsonschema.Draft202012Validator(part).validate(watched().case())
    jsonschema.Draft202012Validator(part).validate(watched(config=PRIVATE, model=None).case())


def test_cases_are_lines_of_a_file(torch, tmp_path):
    file = tmp_path / "cases.jsonl"
    run = watched()
    run.write_case(file, "one")
    run.write_case(file, "two")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["from"] for line in lines] == ["one", "two"]
    assert Path(file).read_text().endswith("\n")
