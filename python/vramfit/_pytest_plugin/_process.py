"""The process in which a marked test runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from vramfit import _core
from vramfit._pytest_plugin._limits import Limits

REPORTS = "VRAMFIT_PYTEST_REPORTS"  # the file for them; where it is set this process is the test's

_LINES = 10  # that held most at the peak, where it takes too much
_OUTPUT = 2000  # letters, of a process that told nothing else

Told = dict[str, Any]  # words, and vramfit run's answer


def reports_of(item: pytest.Item, limits: Limits) -> tuple[list[pytest.TestReport], Told | None]:
    """What the test came to; and what it took, where it used the GPU."""
    with tempfile.TemporaryDirectory(prefix="vramfit-pytest-") as place:
        answer_file, reports_file = Path(place, "answer.json"), Path(place, "reports")
        flags = [*limits.card, "--steps", str(limits.steps), "--json", str(answer_file)]
        began = time.time()
        ran = subprocess.run(
            [sys.executable, "-m", "vramfit", "run", *flags, "--", *_pytest(item)],
            env={**os.environ, REPORTS: str(reports_file)},
            cwd=item.config.invocation_params.dir,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        took = time.time() - began
        reports = list(_read(item, reports_file))
        answer = json.loads(answer_file.read_text()) if answer_file.exists() else None
    by_when = {report.when: report for report in reports}
    stopped = answer is not None and answer["ended"] == "steps" and "call" not in by_when
    for when in ("setup", "call", "teardown") if stopped else ():
        by_when.setdefault(when, _report(item, when, took if when == "call" else 0))
    if all(report.passed for report in by_when.values()):
        failure = _failure(ran, answer, limits, by_when)
        if failure is not None:
            call = by_when.setdefault("call", _report(item, "call", took))
            call.outcome, call.longrepr = "failed", failure
    ordered = [by_when[when] for when in ("setup", "call", "teardown") if when in by_when]
    return ordered, answer and {"words": _words(answer), "answer": answer}


def _pytest(item: pytest.Item) -> list[str]:
    config = item.config
    ini = ["-c", str(config.inipath)] if config.inipath is not None else []
    path = "::".join([str(item.path), *item.nodeid.split("::")[1:]])
    options = ["--rootdir", str(config.rootpath), "-o", "addopts=", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", *ini, *options, path]


def _read(item: pytest.Item, file: Path) -> Iterator[pytest.TestReport]:
    for line in file.read_text().splitlines() if file.exists() else ():
        report = item.config.hook.pytest_report_from_serializable(
            config=item.config, data=json.loads(line)
        )
        report.nodeid = item.nodeid
        report.user_properties = [tuple(pair) for pair in report.user_properties]
        if isinstance(report.longrepr, list):
            report.longrepr = tuple(report.longrepr)  # of a skip: JSON knows no tuples
        yield report


def _report(item: pytest.Item, when: Any, seconds: float) -> pytest.TestReport:
    """Of a part of the test that told nothing itself."""
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="passed",
        longrepr=None,
        when=when,
        duration=seconds,
    )


def _failure(
    ran: subprocess.CompletedProcess[str],
    answer: Told | None,
    limits: Limits,
    told: Collection[str],
) -> str | None:
    if answer is None or "call" not in told:
        errors = [line for line in ran.stdout.splitlines() if line.startswith("vramfit: error: ")]
        if errors:
            return errors[-1].removeprefix("vramfit: error: ")
        return f"it ended with {ran.returncode} before it was over:\n{ran.stdout[-_OUTPUT:]}"
    why = limits.judge(answer)
    if why is None:
        return None
    text = _core.dry_run_text(json.dumps(answer), _LINES)
    return f"takes {answer['total'] / 1e9:.2f} GB of the GPU's memory, {why}\n\n{text}"


def _words(answer: Told) -> str:
    verdict = answer["verdict"] or "failed"
    return f"{answer['total'] / 1e9:.2f} GB of {answer['vram'] / 1e9:.2f} GB, {verdict}"
