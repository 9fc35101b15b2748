"""The page as one file, and the module for other pages: build.py WASM OUT puts them into OUT."""

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import measured
import types_of_schema as types
from vramfit_plots.files import BadInputError

_HERE = Path(__file__).resolve().parent
_PAGE = _HERE / "page"
_HUB = "https://huggingface.co"


def _bundled(script: str, form: str) -> str:
    """A module and those that it imports, as one script that can stand within HTML."""
    command = ["esbuild", _PAGE / script, "--bundle", "--minify", f"--format={form}"]
    done = subprocess.run(
        [
            *command,
            "--target=es2022",
            "--charset=utf8",
            "--log-level=warning",
            "--log-override:empty-import-meta=silent",
        ],
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    return done.stdout.strip().replace("</script", "<\\/script")


def _minified(style: str) -> str:
    done = subprocess.run(
        ["esbuild", "--loader=css", "--minify", "--charset=utf8"],
        input=style,
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    return done.stdout.strip()


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _by_estimator(script: str, wasm: Path, given: Any = None) -> Any:
    """What a script of the page says that runs now, with the estimator."""
    done = subprocess.run(
        ["node", _PAGE / script, wasm],
        input=json.dumps(given),
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    return json.loads(done.stdout)


def measured_part(wasm: Path, table: Mapping[str, Any]) -> str:
    """Measured runs as they stand in the page."""
    cases = _by_estimator("understood.mjs", wasm, table)
    return _packed(json.dumps({**table, "cases": cases}, separators=(",", ":")).encode())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _policy(script: str, style: str) -> str:
    """What the page may do: its own script and style, its worker, and one host to fetch from."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)} 'wasm-unsafe-eval'",
            f"style-src {_hash(style)}",
            "worker-src blob:",
            "img-src data: blob:",
            f"connect-src {_HUB}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def page(wasm: Path) -> str:
    chart_style = _minified((_PAGE / "chart.css").read_text())
    parts = {
        "style": _minified((_PAGE / "style.css").read_text()) + chart_style,
        "chart_style": chart_style,
        "main": _bundled("main.mjs", "esm"),
        "worker": _bundled("worker.mjs", "iife"),
        "measured": measured_part(wasm, measured.table()),
        "wasm": _packed(wasm.read_bytes()),
        **_by_estimator("stills.mjs", wasm),
    }
    parts["csp"] = _policy(parts["main"], parts["style"])
    template = (_PAGE / "index.html").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def main() -> None:
    wasm, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page(wasm), encoding="utf-8")
    shutil.copy(wasm, out)
    shutil.copy(_HERE / "module/vramfit.mjs", out)
    declared = (_HERE / "module/vramfit.d.mts").read_text()
    declared = re.sub(r"  //\{(\w+)\}", lambda match: types.members(match[1]), declared)
    (out / "vramfit.d.mts").write_text(declared)


if __name__ == "__main__":
    try:
        main()
    except BadInputError as error:
        sys.exit(f"build.py: error: {error}")
