"""What `vramfit --advise` advises, asked of it again: by its own flags, and as a script says it."""

import json
import re
import shlex
import subprocess

import pytest
from built import program

QUESTIONS = [
    "--model llama2-7b --train --precision bf16 --batch 4 --seq 512 --gpu rtx4090",
    "--model llama2-7b --train --precision bf16 --batch 8 --gpu h100-80gb",
    "--model llama2-7b --train --precision fp32 --autocast bf16 --batch 4 --gpu h100-80gb",
    "--model gpt2-1.5b --train --precision fp16 --batch 8 --vram 16GB",
    "--model olmo2-1b --train --optimizer adamw --vram 8GiB",
    "--model llama2-7b --train --lora 16 --quant int8 --batch 8 --gpu rtx4090",
    "--model llama3-70b --train --gpu h100-80gb",
    "--model llama2-13b --precision fp32 --attention eager --gpu rtx4090",
    "--model llama3-8b --batch 4 --seq 8192 --gpu rtx3060",
    "--model llama3-8b --batch 3 --seq 8192 --gpu rtx4090",
    "--model llama2-7b --train --batch 4 --seq 1024 --gpu a100-40gb --runtime vramfit",
    "--model llama2-7b --train --optimizer adamw-master --attention cublas --gpu h100-80gb "
    "--precision bf16 --batch 8 --runtime vramfit --checkpoint selective --checkpoint-every 2",
    "--model llama2-7b --train --batch 4 --seq 1024 --gpu rtx4090 --runtime vramfit",
    "--model llama2-7b --train --precision bf16 --seq 512 --vram 32GB --runtime vramfit",
    "--model llama2-7b --train --batch 4 --precision fp32 --lora 8 --gpu rtx3060 --runtime vramfit",
    "--model llama3-8b --batch 32 --seq 4096 --generate 40 --gpu rtx4090 --runtime vramfit",
    "--model llama3-8b --precision fp32 --gpu rtx3060 --runtime vramfit",
]
SWITCHES = {"train", "double-quant"}


def ask(flags: dict[str, str]) -> tuple[int, dict]:
    words = [word for flag, value in flags.items() for word in (f"--{flag}", value) if word]
    run = subprocess.run(
        [program("fit"), *words, "--json"], capture_output=True, text=True, check=False
    )
    assert run.returncode in (0, 1), (words, run.stderr)
    return run.returncode, json.loads(run.stdout)


def flags_of(line: str) -> dict[str, str]:
    words = shlex.split(line)
    flags = {}
    while words:
        flag = words.pop(0).removeprefix("--")
        flags[flag] = "" if flag in SWITCHES else words.pop(0)
    return flags


@pytest.fixture(scope="module", params=QUESTIONS)
def advised(request) -> tuple[dict[str, str], dict]:
    flags = flags_of(request.param)
    return flags, ask(flags | {"advise": ""})[1]


def test_its_flags_make_it_fit(advised):
    flags, answer = advised
    assert answer["verdict"] in ("OOM", "TIGHT")
    assert answer["advice"]
    for advice in answer["advice"]:
        again = {flag: value for flag, value in flags.items() if flag not in advice["without"]}
        assert set(advice["without"]) <= flags.keys()
        status, found = ask(again | flags_of(advice["flags"]))
        assert status == 0, advice
        assert found["fits"]
        for key in ("total", "margin", "verdict"):
            assert found[key] == advice[key], advice


def test_it_fits_on_so_many_gpus_and_on_no_fewer(advised):
    flags, answer = advised
    quantised = "quant" in flags  # which several GPUs do not train
    assert bool(answer["on_several_gpus"]) or quantised or "train" not in flags
    for advice in answer["on_several_gpus"]:
        kept = {flag: value for flag, value in flags.items() if flag not in advice["without"]}
        asked = kept | flags_of(advice["flags"])
        status, found = ask(asked)
        assert (status, found["total"], found["verdict"]) == (0, advice["total"], advice["verdict"])
        gpus, strategy = int(asked["gpus"]), asked["strategy"]
        if gpus > 2 and strategy != "ddp" and len(advice["changes"]) == 1:
            _, fewer = ask(asked | {"gpus": str(gpus // 2)})
            assert fewer["verdict"] != "FITS"
        if "launch" in advice:
            assert advice["launch"].endswith("train.py")
            started = shlex.split(advice["launch"])
            assert launched(started) == gpus


def launched(words: list[str]) -> int:
    """How many processes torchrun or accelerate starts."""
    if "--num_processes" in words:
        return int(words[words.index("--num_processes") + 1])
    hosts = int(words[words.index("--nnodes") + 1]) if "--nnodes" in words else 1
    return hosts * int(words[words.index("--nproc-per-node") + 1])


# What Python writes, and the flag by which a script takes the same.
CALLS = {
    "TrainingArguments": {},
    "from_pretrained": {},
    "BitsAndBytesConfig": {},
    "tokenizer": {},
    "LoraConfig": {"r": "lora-r", "target_modules": "lora-target-modules"},
}
NO_FLAG = {"truncation=True", "bf16=False", "fp16=False"}


def value_of(text: str) -> str:
    """ "x" as x, ["a", "b"] as a,b, True and torch.float16 as they are."""
    if text.startswith("{"):
        return text.replace("True", "true")
    return ",".join(re.findall(r'"([^"]*)"', text)) or text


def of_script(script: dict[str, list[str]]) -> dict[str, str]:
    flags = {}
    for call, arguments in script.items():
        for argument in arguments:
            if argument in NO_FLAG:
                continue
            name, _, value = argument.partition("=")
            flags[CALLS[call].get(name, name).replace("_", "-")] = value_of(value)
    return flags


# fit's own flags that a script's stand in place of.
OWN = {
    "dtype": "precision",
    "optim": "optimizer",
    "attn-implementation": "attention",
    "per-device-train-batch-size": "batch",
    "gradient-accumulation-steps": "accumulate",
    "max-length": "seq",
    "lora-r": "lora",
    "lora-target-modules": "lora-targets",
    "gradient-checkpointing": "checkpoint",
    "load-in-8bit": "quant",
    "load-in-4bit": "quant",
    "device-map": "device-map",
    "bnb-4bit-compute-dtype": "quant-compute",
}


def test_its_script_says_the_same(advised):
    flags, answer = advised
    if flags.get("runtime") == "vramfit":
        assert not any(advice["script"] for advice in answer["advice"])
        return
    for advice in answer["advice"]:
        script = of_script(advice["script"])
        replaced = {OWN.get(flag, flag) for flag in script} | set(advice["without"])
        again = {flag: value for flag, value in flags.items() if flag not in replaced}
        # What no library's argument says: how many sequences there are to generate from.
        if "batch" in flags_of(advice["flags"]) and "train" not in flags:
            again["batch"] = flags_of(advice["flags"])["batch"]
        if "train" in flags:  # a step of one's own, where a Trainer keeps the loss alone
            script["loss-only=false"] = ""
        assert ask(again | script)[1]["total"] == advice["total"], advice


def test_a_slowdown_is_the_product_of_its_steps(advised):
    _, answer = advised
    for advice in answer["advice"]:
        steps = [step["slowdown"] for step in advice["steps"]]
        if None in steps:
            assert advice["slowdown"] is None
            continue
        product = 1.0
        for step in steps:
            product *= step
        assert advice["slowdown"] == pytest.approx(product)


def test_cards_that_it_fits_on(advised):
    flags, answer = advised
    for card in answer["fits_on"]:
        elsewhere = {flag: value for flag, value in flags.items() if flag != "vram"}
        assert ask(elsewhere | {"gpu": card})[1]["verdict"] == "FITS"


@pytest.mark.parametrize("line", ["--model gpt2-124m --train --gpu h200", "--params 1B --gpu h200"])
def test_what_fits_needs_none(line):
    status, answer = ask(flags_of(line) | {"advise": ""})
    assert status == 0
    assert answer["advice"] == answer["fits_on"] == []


def test_it_answers_soon():
    """Seconds of processor time for a large question, with all that a machine's load adds."""
    line = "--model llama2-7b --train --precision fp32 --autocast bf16 --batch 64 --gpu rtx3060"
    run = subprocess.run(
        ["bash", "-c", f"TIMEFORMAT=%U; time {program('fit')} {line} --advise >/dev/null"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert float(run.stderr.splitlines()[-1]) < 2
