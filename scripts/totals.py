"""Counts the tests in JUnit files; exits 1 when one failed or a file has none."""

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
    if case.get("status") == "notrun" and not reason.startswith("SKIP_"):
        return "failed"
    return "passed" if skipped is None and case.get("status") != "disabled" else "skipped"


def cases_of(path: Path) -> list[ElementTree.Element]:
    """Of a file that was not written: none."""
    if not path.exists():
        return []
    try:
        return list(ElementTree.fromstring(read_text(path)).iter("testcase"))
    except ElementTree.ParseError as error:
        raise BadInputError(f"{path}: not XML: {error}") from None


@program("totals")
def main(paths: list[str]) -> int:
    totals: Counter[str] = Counter()
    for path in map(Path, paths):
        cases = cases_of(path)
        if not cases:
            print(f"{path}: no test ran")
            totals["failed"] += 1
        for case in cases:
            result = outcome(case)
            totals[result] += 1
            if result == "failed":
                print(f"failed: {path.stem}: {case.get('name')}")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
