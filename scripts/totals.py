"""Counts the tests in JUnit files: `totals.py FILE...`. Exits 1 when any failed, or a file has none."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    # ctest also calls a test skipped whose program is missing.
    missing = case.get("status") == "notrun" and not skipped.get("message", "").startswith("SKIP_")
    return "failed" if missing else "skipped"


def main(paths: list[str]) -> int:
    totals: Counter[str] = Counter()
    for path in map(Path, paths):
        cases = list(ElementTree.parse(path).iter("testcase")) if path.exists() else []
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
