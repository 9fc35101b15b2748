"""Others' estimates: their rules are as their sources have them, and the page has the table."""

from types import SimpleNamespace

import pytest
from built import program
from league.rivals import engines, gguf_rules, table
from league.rivals.__main__ import device_used
from league.rivals.formulas import RULES
from league.rivals.shapes import shape_of
from programs import ROOT, read_jsonl
from vramfit_plots.tables import markdown_fragment

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
}
PARAMETERS = 6_738_415_616
MIB = 1 << 20


def case(**setting):
    given = {"arch": LLAMA, "opt": "adamw", "dtype": "bf16", "mode": "train", **setting}
    return SimpleNamespace(
        setting=given,
        training=given["mode"] == "train",
        usual_states=True,
        batch=given.get("b", 1),
        seq=given.get("s", 512),
        gpus=given.get("gpus", 1),
        new_tokens=given.get("new_tokens", 1),
    )


def say(key: str, asked):
    rule = next(rule for rule in RULES if rule.key == key)
    assert rule.speaks_of(asked)
    return rule.say(asked, PARAMETERS)


def test_gpt2_is_read_by_its_own_names():
    arch = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None}
    shape = shape_of({**arch, "vocab_size": 50257})
    assert (shape.hidden, shape.layers, shape.inner) == (768, 12, 3072)
    assert shape.tied
    assert not shape.gated


def test_deepspeed_counts_18_bytes_and_the_largest_layer():
    assert say("deepspeed-zero3", case()).total == 4 * 32000 * 4096 + 18 * PARAMETERS
    sharded = case(gpus=2, strategy="fsdp")
    assert say("deepspeed-zero3", sharded).total == 4 * 32000 * 4096 + 9 * PARAMETERS


def test_megatron_counts_a_llama_as_it_is():
    """Of Llama-2-7B its own count is exact, since 32,000 is a multiple of 128."""
    tokens = 512
    kept = tokens * (34 * 4096 * 32 + 8 + 4096) + 2 * tokens * (32000 + 4096)
    assert say("megatron", case()).total == pytest.approx(18 * PARAMETERS + 1.05 * kept, rel=1e-12)


def test_gpu_poor_of_a_step_of_training():
    """Its own sums, by hand: 4·h² + 3·h·i a layer, which has no norms."""
    weights = 2 * 32000 * 4096 + 32 * (4 * 4096**2 + 3 * 4096 * 11008)
    s, h, i, heads = 512, 4096, 11008, 32
    layer = 16 * s * h + 8 * s * s * heads + 4 * s * h + 12 * s * i + 8 * s + 12 * s * h
    said = say("gpu-poor", case())
    assert said.tensors == 2 * weights + 6 * weights + 32 * layer
    assert said.total - said.tensors == pytest.approx(650 * MIB, abs=MIB)
    with_checkpoints = say("gpu-poor", case(ckpt=True)).tensors
    assert with_checkpoints == pytest.approx(8 * weights + 0.15 * 32 * layer)


def test_gpu_poor_has_no_batch_in_generation():
    rule = next(rule for rule in RULES if rule.key == "gpu-poor")
    assert rule.speaks_of(case(mode="infer"))
    assert not rule.speaks_of(case(mode="infer", b=2))
    assert not rule.speaks_of(case(dtype="fp32"))


def test_gguf_parsers_weights_and_caches_are_llama_cpps():
    models = {
        line["model"]: line
        for line in read_jsonl(ROOT / "data" / "reference" / "llamacpp" / "models.jsonl")
    }
    recorded = read_jsonl(ROOT / "data" / "reference" / "llamacpp" / "memory.jsonl")
    runs = {line["case"]["name"]: line for line in recorded if "case" in line}
    for name in ("tinyllama-1.1b Q4_K_M", "llama2-7b F16 fa=on", "mixtral-small F16 fa=on"):
        line = runs[name]
        ask = gguf_rules.Ask(line["result"]["n_ctx"], 512, 1, True, "f16", "f16", False)
        rules = gguf_rules.Rules(models[line["model"]], ask)
        buffers = line["result"]["breakdown"]["CUDA0"]
        assert rules.weights() == pytest.approx(buffers["model"], rel=1e-5)
        assert rules.cache() == buffers["context"]
        assert rules.compute() > 0


def test_engines_runs_are_whole_and_named_once():
    runs = [*engines.llamacpp(), *engines.vllm()]
    assert len({run.key for run in runs}) == len(runs) > 40
    assert all(run.measured > 0 and any(run.said.values()) for run in runs)


def test_the_page_has_these_tables():
    shown = (ROOT / "docs" / "league.md").read_text()
    for built in (table.build(table.lines(device_used, program("fit"))), table.described()):
        assert markdown_fragment(built).strip() in shown, "`make league-rivals`, take rivals.md"
