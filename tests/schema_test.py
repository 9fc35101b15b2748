"""docs/schemas/ says what the JSON looks like: of fit, of bench, of every committed run."""

import json
import subprocess

import jsonschema
import pytest
from built import ROOT, program
from jsonschema_rs import Draft202012Validator, Registry

SCHEMAS = {
    path.name: json.loads(path.read_text())
    for path in sorted((ROOT / "docs" / "schemas").glob("*.schema.json"))
}
RUNS = sorted((ROOT / "data" / "runs").rglob("*.json"))
REFERENCES = sorted((ROOT / "data" / "reference").rglob("*.jsonl"))
REGISTRY = Registry(SCHEMAS.items())


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": name}, registry=REGISTRY)


def without_strangers(name: str, part: str | None = None) -> Draft202012Validator:
    """The same, and it objects to keys that nothing describes: ours have none."""
    ref = name if part is None else f"{name}#/$defs/{part}"
    closed = {"$ref": ref, "unevaluatedProperties": False}
    return Draft202012Validator(closed, registry=REGISTRY)


def objections(validator: Draft202012Validator, instance) -> list[str]:
    return [
        f"{'.'.join(map(str, error.instance_path))}: {error.message[:300]}"
        for error in validator.iter_errors(instance)
    ]


def answer_of_fit(*arguments: str) -> dict:
    run = subprocess.run(
        [program("fit"), *arguments, "--json"], capture_output=True, text=True, check=False
    )
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict:
    out = tmp_path_factory.mktemp("bench") / "report.json"
    subprocess.run(
        [
            program("bench"),
            "--device=virtual:h200",
            "--benchmark_filter=llama2-7b/(bf16|fp16/adamw)/|KvCache|Article|training/llama2-7b",
            "--benchmark_min_time=0.01",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ],
        capture_output=True,
        check=True,
    )
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema(name):
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize(
    "arguments",
    [
        "--model llama3-8b --batch 4 --seq 8192 --gpu rtx4090",
        "--model llama3-8b --batch 4 --seq 8192 --gpu rtx4090 --runtime vramfit",
        "--model llama2-7b --train --precision fp32 --autocast bf16 --gpu h100-80gb",
        "--model llama2-7b --train --lora 16 --checkpoint full --gpu rtx4090 --max-batch",
        "--model gpt2-124m --train --runtime vramfit --accumulate 2 --vram 24GB --headroom 1GB",
        "--params 7B --runtime vramfit --vram 24GB --max-seq",
        "--model llama3-70b --vram 24GB --max-batch",
        "--model tinyllama-1.1b --vram 8GB --generate 16",
        "--model llama2-7b --train --autocast bf16 --precision fp32 --gpu h100-80gb --advise",
        "--model llama2-7b --gpu rtx3060 --runtime vramfit --advise",
        "--model llama3-70b --train --gpu rtx3060 --advise",
        "--model llama2-7b --train --gpus 2 --bucket-view --gpu h100-80gb",
        "--model llama2-7b --train --gpus 8 --strategy fsdp --precision fp32 --mixed-precision bf16"
        " --gpu h100-80gb --max-batch",
        "--model llama3-70b --gpus 4 --gpu h100-80gb",
        "--model llama2-7b --runtime article --precision int4 --vram 24GB",
        "--model llama2-7b --runtime article --train --optimizer sgd --vram 24GB --max-batch",
        "--model llama2-7b --runtime article --train --gpus 4 --strategy fsdp --gpu h100-80gb",
        "--model llama3-70b --runtime llama.cpp --ctx 4096 --gpu rtx4090,rtx3060-12gb",
        "--model qwen3-8b --runtime llama.cpp --ctx 4096 --gpu mac-16gb --max-quant",
        "--model qwen3-8b --runtime vllm --gpu rtx4090 --max-max-model-len",
        "--model llama3.1-8b --runtime vllm --max-model-len 131072 --gpu rtx4090",
    ],
)
def test_fit(arguments):
    assert objections(without_strangers("fit.schema.json"), answer_of_fit(*arguments.split())) == []


@pytest.mark.parametrize(
    "more",
    [("--gpu", "rtx4090", "--batch", "800", "--advise"), ("--gpu", "rtx4090", "--max-batch"), ()],
)
def test_fit_of_a_recorded_run(more):
    tape = ROOT / "tests" / "fixtures" / "recorded" / "attention.tape"
    answer = answer_of_fit("--tape", str(tape), "--seq", "900", *more)
    assert objections(without_strangers("fit.schema.json"), answer) == []


@pytest.mark.parametrize("runtime", ["pytorch", "vramfit", "article"])
@pytest.mark.parametrize("search", [(), ("--max-batch",)])
def test_fit_on_every_card(runtime, search):
    answer = answer_of_fit("--model", "tinyllama-1.1b", "--runtime", runtime, *search)
    assert objections(without_strangers("fit.schema.json"), answer) == []


def test_bench(report):
    assert {row["name"].split("/")[0] for row in report["benchmarks"]} == {
        "Training",
        "Inference",
        "KvCache",
        "MultiGpu",
        "OomCliff",
        "BatchCliff",
        "Estimate",
        "Article",
    }
    assert objections(validator("bench.schema.json"), report) == []


def test_there_are_runs():
    assert len(RUNS) >= 4


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_committed_runs(path):
    name = "comparison" if path.stem.endswith("-compare") else "run"
    assert objections(validator(f"{name}.schema.json"), json.loads(path.read_text())) == []


DATA = {
    "gpus.json": "gpus.schema.json",
    "overheads.json": "overheads.schema.json",
    "slowdowns.json": "slowdowns.schema.json",
    "models/parameters.json": "models.schema.json",
    "article/table1_inference.json": "article.schema.json#/$defs/inference",
    "article/table2_training_waterfall.json": "article.schema.json#/$defs/waterfall",
    "article/table3_oom_cliff.json": "article.schema.json#/$defs/oom_cliff",
    "article/table4_multi_gpu.json": "article.schema.json#/$defs/multi_gpu",
    "article/claims.json": "article.schema.json#/$defs/claims",
}


@pytest.mark.parametrize("file", DATA)
def test_data(file):
    assert objections(validator(DATA[file]), json.loads((ROOT / "data" / file).read_text())) == []


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)
def test_reference(path):
    part = "#/$defs/llamacpp" if path.stem == "llamacpp_speed" else ""
    if path.parent.name == "llamacpp":
        part = "#/$defs/llamacpp_files"
    if path.parent.name in ("nccl", "stored"):
        part = f"#/$defs/{path.parent.name}"
    if path.parent.name == "vllm":
        own = {"cuda_graphs": "cuda_graphs", "standin": "vllm_standin", "random": "vllm_random"}
        own |= {"published": "vllm_standin", "release_0.33": "vllm_standin", "speed": "vllm_speed"}
        part = f"#/$defs/{own.get(path.stem, 'vllm')}"
    name = f"reference.schema.json{part}"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [found for line in lines for found in objections(validator(name), line)] == []


def test_every_counter_is_described(report):
    described = without_strangers("bench.schema.json", "row")
    rows = list(report["benchmarks"])
    for path in RUNS:
        rows += json.loads(path.read_text()).get("benchmarks", [])
    assert [found for row in rows for found in objections(described, row)] == []


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda row: row.pop("pred_allocated"), "pred_allocated"),
        (lambda row: row.update(pred_allocated=-1), "pred_allocated"),
        (lambda row: row.update(pred_allocated=0.5), "pred_allocated"),
        (lambda row: row.update(pred_max_batch="many"), "pred_max_batch"),
        (lambda row: row.update(name="Trainings/x"), "name"),
    ],
)
def test_what_is_wrong_is_found(report, spoil, where):
    row = next(row for row in report["benchmarks"] if row["name"].startswith("OomCliff/")).copy()
    spoil(row)
    found = objections(validator("bench.schema.json"), {**report, "benchmarks": [row]})
    assert any(where in objection for objection in found), found
