"""Counts the tests in JUnit files; exits 1 when one failed or a file has none. A suite that ctest
ran as one case in PRESET.xml counts by its own file, PRESET/results/SUITE.xml, if there is one."""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from programs import BadInputError, program, read_text


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    # ctest marks a disabled test by its status only, and one whose program is missing as skipped.
    reason = skipped.get("message", "") if skipped is not None else ""
    not_run = case.get("status") == "notrun" and case.get("result") != "suppressed"
    if not_run and not reason.startswith("SKIP_"):
        return "failed"
    left_out = case.get("status") == "disabled" or case.get("result") == "suppressed"
    return "passed" if skipped is None and not left_out else "skipped"


def cases_of(path: Path) -> list[ElementTree.Element]:
    """Of a file that was not written: none."""
    if not path.exists():
        return []
    try:
        return list(ElementTree.fromstring(read_text(path)).iter("testcase"))
    except ElementTree.ParseError as error:
        raise BadInputError(f"{path}: not XML: {error}") from None


def told_by(suite: list[ElementTree.Element], result: str) -> bool:
    """Whether a suite's own file says what ctest says of it, so that it counts once. One that
    failed without a failed test, by a leak found at its end, counts itself."""
    return (result == "failed") == ("failed" in map(outcome, suite))


@program("totals")
def main(paths: list[str]) -> int:
    totals: Counter[str] = Counter()
    files = {Path(path): cases_of(Path(path)) for path in paths}
    suites = {(path.parent.parent.name, path.stem): cases for path, cases in files.items()}
    for path, cases in files.items():
        if not cases:
            print(f"{path}: no test ran")
            totals["failed"] += 1
        for case in cases:
            result = outcome(case)
            suite = suites.get((path.stem, case.get("name", "").replace("/", ".")))
            if suite and told_by(suite, result):
                continue
            totals[result] += 1
            if result == "failed":
                print(f"failed: {path.stem}: {case.get('name')}")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
