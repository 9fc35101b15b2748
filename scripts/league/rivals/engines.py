"""The runs of llama.cpp and vLLM that data/reference has, on one H200 that holds all of a model,
and what is said of them. Bytes of the card, driver's context included."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from programs import ROOT, read_jsonl

from league.rivals import gguf_rules

_REFERENCE = ROOT / "data" / "reference"
_PARTS = ("model", "context", "compute")
_SPLIT = {"ngl", "ncmoe"}  # runs that leave something on the host
_FIT_MARGIN = 1024 << 20  # llama.cpp's --fit-target


@dataclass(frozen=True)
class Run:
    key: str
    measured: int  # what the card lost, at the end
    question: Mapping[str, Any]  # of vramfit.estimate
    said: Mapping[str, int | None]  # by rival
    wanted: Mapping[str, int]  # where a verdict wants more room than was said

    def errors(self, said: Mapping[str, int]) -> dict[str, float]:
        """By rival, and of what else was `said`."""
        every = {**self.said, **said}
        return {key: value / self.measured - 1 for key, value in every.items() if value is not None}


def _mixtral(arch: Mapping[str, Any]) -> dict[str, Any]:
    """The one model that is no shipped one, as a config."""
    return {
        "architectures": ["MixtralForCausalLM"],
        "model_type": "mixtral",
        "hidden_size": arch["hidden"],
        "intermediate_size": arch["ffn"],
        "num_hidden_layers": arch["layers"],
        "num_attention_heads": arch["heads"],
        "num_key_value_heads": arch["kv_heads"],
        "vocab_size": arch["vocab"],
        "head_dim": arch["head_dim"],
        "max_position_embeddings": 4096,
        "num_local_experts": arch["experts"],
        "num_experts_per_tok": arch["experts_used"],
        "tie_word_embeddings": arch["tied"],
    }


def _llamacpp_question(case: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    args = case["args"]
    named = {"model": case["model"]}
    if "experts" in case["arch"]:
        named = {"config": _mixtral(case["arch"])}
    asked = {
        "runtime": "llama.cpp",
        **named,
        "quant": case["type"].removesuffix("-random"),
        "ctx": result["n_ctx"],
        "batch_size": result["n_batch"],
        "ubatch_size": result["n_ubatch"],
        "parallel": args.get("seqs", 1),
        "kv_unified": bool(args.get("unified")),
        "flash_attn": args.get("fa", "auto"),
        "cache_type_k": args.get("ctk", "f16"),
        "cache_type_v": args.get("ctv", "f16"),
        "outputs": "batch",
        "gpu": "h200",
    }
    return asked | ({"swa_full": True} if args.get("swafull") else {})


def llamacpp() -> Iterator[Run]:
    models = {line["model"]: line for line in read_jsonl(_REFERENCE / "llamacpp" / "models.jsonl")}
    for line in read_jsonl(_REFERENCE / "llamacpp" / "memory.jsonl"):
        if "case" not in line or _SPLIT & line["case"]["args"].keys():
            continue
        case, result = line["case"], line["result"]
        args, phases = case["args"], {p["phase"]: p for p in result.get("phases", ())}
        if "breakdown" not in result or "generated" not in phases or "dump" in args:
            continue
        ask = gguf_rules.Ask(
            ctx=result["n_ctx"],
            ubatch=result["n_ubatch"],
            seqs=args.get("seqs", 1),
            flash=args.get("fa") != "off",
            type_k=args.get("ctk", "f16"),
            type_v=args.get("ctv", "f16"),
            swa_full=bool(args.get("swafull")),
        )
        rules = gguf_rules.Rules(models[line["model"]], ask)
        own = sum(result["expected"][0][part] for part in _PARTS)
        poor = gguf_rules.gpu_poor(case["arch"], case["type"], result["n_ctx"])
        yield Run(
            key=case["name"],
            measured=phases["generated"]["device_used"],
            question=_llamacpp_question(case, result),
            said={
                "llama-fit-params": own,
                "gguf-parser": rules.buffers() + gguf_rules.PLATFORM,
                "gpu-poor-ggml": poor,
            },
            wanted={"llama-fit-params": own + _FIT_MARGIN},
        )


def vllm() -> Iterator[Run]:
    """What vLLM was told to take, and took as it served."""
    for line in read_jsonl(_REFERENCE / "vllm" / "memory.jsonl"):
        if "case" not in line:
            continue
        case, result = line["case"], line["result"]
        phases = {phase["phase"]: phase for phase in result["phases"]}
        if "served_full" not in phases:
            continue
        named = {"model": case["model"]}
        if case["model"] == "mixtral-small" or "quantization_config" in case["arch"]:
            named = {"config": case["arch"]}
        engine = {k: v for k, v in case["engine"].items() if k != "quantization" or v == "fp8"}
        warm = {"compile_cache": "warm"} if case["compile_cache"] == "warm" else {}
        yield Run(
            key=case["name"],
            measured=phases["served_top_p"]["device_used"],
            question={
                "runtime": "vllm",
                **named,
                **engine,
                **warm,
                "engine": "offline",
                "gpu": "h200",
            },
            said={"vllm": result["vllm"]["requested_memory"]},
            wanted={},
        )
