"""What `fit` answers to a start of vLLM's, beside what came of it on the stand-in."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from programs import ROOT

Json = Mapping[str, Any]

FIT = ROOT / "build" / "fit"
WITHIN = 0.003  # of the blocks


def answer(question: Json) -> Json:
    """Its `serving`, or why it refuses under `refusal`."""
    with tempfile.TemporaryDirectory(prefix="vramfit-vllm-") as folder:
        engine = written(question, Path(folder))
        asked = [FIT, "--model", folder, "--gpu", question["gpu"], "--runtime", "vllm", "--json"]
        asked += ["--engine", "offline", *_flags(engine)]
        ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    if not ran.stdout:
        return {"refusal": ran.stderr.strip().removeprefix("vramfit: error: ")}
    serving: Json = json.loads(ran.stdout)["serving"]
    return serving


def written(question: Json, folder: Path) -> Json:
    """Its configs, there; and its engine's arguments, which name what drafts by its folder."""
    (folder / "config.json").write_text(json.dumps(question["config"]))
    engine: Json = question["engine"]
    if "draft" not in question:
        return engine
    draft = folder / "draft"
    draft.mkdir()
    (draft / "config.json").write_text(json.dumps(question["draft"]))
    drafts = {**engine["speculative_config"], "model": str(draft)}
    return {**engine, "speculative_config": drafts}


def _flags(engine: Json) -> list[str]:
    flags = []
    for name, value in engine.items():
        if value is False:
            continue
        flags.append("--" + name.replace("_", "-"))
        if value is not True:
            flags.append(value if isinstance(value, str) else json.dumps(value))
    return flags


def is_right(question: Json, serving: Json) -> bool:
    """Blocks, or a start that both refuse."""
    blocks = question.get("blocks")
    if blocks is None:
        return serving["refusal"] is not None
    return serving["refusal"] is None and abs(serving["blocks"] / blocks - 1) <= WITHIN


def told(question: Json, serving: Json) -> str:
    """A line of one that is not right."""
    there = question.get("blocks") or question["refusal"]
    here = serving["refusal"] or serving["blocks"]
    asked = json.dumps(question["engine"])
    name, gpu = question["name"], question["gpu"]
    return f"{question['question']} {name} on {gpu} {asked}: {there}; fit: {here}"
