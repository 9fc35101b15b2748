"""make releases: the cases of data/releases/cases.json with each release of PyTorch and
transformers on the stand-in, and what moved from each to the next.

Writes data/releases/NAME/: cases.jsonl, what every case took, and a file for each of known.TOLD,
the whole answer, which vramfit-compare takes. Nothing of it is measured: no GPU is asked.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from exact.cases import readings
from exact.standin import played
from programs import Arguments, program, require_made, writing

from releases.changes import changes, keep_changes
from releases.known import RELEASES, TOLD, Release, chosen, pinned_cases
from releases.told import environment, told

# By metadata: without the stand-in torch cannot be imported.
_VERSIONS = """
import json
from importlib.metadata import version
print(json.dumps({name: version(name) for name in ("torch", "transformers", "peft", "accelerate")}))
"""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make releases",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="names of releases; all of them if none")
    parser.add_argument("--kept", action="store_true", help="of data/releases/; plays nothing")
    return parser.parse_args(argv)


def _versions(release: Release) -> dict[str, str]:
    require_made({release.python: "releases"})
    ran = subprocess.run(
        [release.python, "-c", _VERSIONS],
        env=environment(release),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(ran.stdout)
    return found


def _play(release: Release) -> None:
    cases = pinned_cases()
    env = {**_versions(release), "simulated": "by vramfit run; no GPU was asked"}
    cores = len(os.sched_getaffinity(0))
    lines = played(cases, release.python, cores, release.packages)
    answers = {
        name: told(case, release)
        for name, wanted in TOLD.items()
        for case in cases
        if case.name == wanted
    }
    with writing():
        release.folder.mkdir(parents=True, exist_ok=True)
        with release.cases.open("w", encoding="utf-8") as file:
            print(json.dumps({"env": env}), file=file)
            for case in cases:
                result = lines[case.name]["result"]
                why = result.get("oom") or result.get("error")
                end = {"failed": why[:200]} if why else {"readings": readings(result)}
                print(json.dumps({"case": case.name, **end}), file=file)
        for name, answer in answers.items():
            (release.folder / f"{name}.json").write_text(json.dumps(answer) + "\n")


@program("releases")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    for release in chosen(given.only) if not given.kept else ():
        print(f"{release.name}:", file=sys.stderr)
        _play(release)
    keep_changes(RELEASES)
    for line in changes(RELEASES):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
