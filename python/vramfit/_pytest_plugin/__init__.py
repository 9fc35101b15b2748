"""pytest's plugin: `@pytest.mark.vram(gpu="rtx4090", max="20GB")` runs a test on a GPU that is not
there, in a process of its own, and fails it where it takes more.

The process runs pytest of that one test under `vramfit run`; its reports come back as a file.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from vramfit._core import BadInput
from vramfit._pytest_plugin._limits import Limits, limits_of
from vramfit._pytest_plugin._process import REPORTS, reports_of
from vramfit._pytest_plugin._without_cuda import let_torch_load

_PROPERTY = "vramfit"  # of a report: what the test took, in words
_LIMITS = pytest.StashKey[Limits]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("vramfit").addoption(
        "--vram-json",
        metavar="DIR",
        type=Path,
        help="what each test marked vram took, for vramfit-compare: a file a test",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "vram(gpu, max, vram, steps): runs on a GPU that is not there (vramfit --list), and is to "
        "take no more than max, or what the card has",
    )
    if REPORTS not in os.environ:
        let_torch_load()
    else:
        config.pluginmanager.register(_Sender(config, Path(os.environ[REPORTS])))


class _Sender:
    """Of the process of one test: writes its reports down."""

    def __init__(self, config: pytest.Config, file: Path) -> None:
        self._config, self._file = config, file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with self._file.open("a") as file:
            file.write(json.dumps(told, default=str) + "\n")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if REPORTS in os.environ:
        return
    for item in items:
        mark = item.get_closest_marker("vram")
        if mark is None:
            continue
        try:
            item.stash[_LIMITS] = limits_of(mark)
        except BadInput as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        if find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="vram: torch is not installed"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    limits = item.stash.get(_LIMITS, None)
    if limits is None or find_spec("torch") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, told = reports_of(item, limits)
    for report in reports:
        if report.when == "call" and told is not None:
            report.user_properties.append((_PROPERTY, told["words"]))
        item.ihook.pytest_runtest_logreport(report=report)
    folder = item.config.getoption("vram_json")
    if folder is not None and told is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = item.nodeid.replace("::", ".").replace("/", ".")
        (folder / f"{name}.json").write_text(json.dumps(told["answer"], indent=2) + "\n")
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    item.session._setupstate.teardown_exact(nextitem)  # of what tests before it left for others
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A line for each test that ran on a GPU that is not there."""
    lines = [
        f"{report.nodeid}: {told}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, told in report.user_properties
        if name == _PROPERTY and report.when == "call"
    ]
    if lines:
        terminalreporter.section("GPU memory, as vramfit run says", sep="-")
        for line in sorted(lines):
            terminalreporter.line(line)
