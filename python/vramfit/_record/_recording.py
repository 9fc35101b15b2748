"""Runs until they make a tape that holds where it was not made from."""

from __future__ import annotations

import sys
from typing import Any

from vramfit._bad_input import bad_input
from vramfit._record import _options, _runs
from vramfit._record._check import checked
from vramfit._record._merge import PartError
from vramfit._record._options import Asked
from vramfit._record._solve import Point
from vramfit._record._steps import Taken
from vramfit._record._tape import Tape, at_text, made

Json = dict[str, Any]

# Checks that may fail, of those that nobody chose: what was found there is taken in.
_TRIES = 3


class Recording:
    """Of one command. Raises BadInput where it makes no tape."""

    def __init__(self, asked: Asked, facts: Json) -> None:
        self._asked, self._facts = asked, facts
        self._rounds = _options.rounds(asked)
        self._runs: list[Taken] = []
        self.points: list[Point] = []  # that the tape is made from
        self.versions: Json = {}  # of what ran
        self.check = asked.check  # the last; None: nothing is varied
        self.why: str | None = None  # the tape does not hold there
        for point in self._rounds.pop(0):
            self._add(self._run(point, ""), point)
        self.tape = self._made()
        if self.check is not None:
            self._check(self.check)

    def _run(self, point: Point, what_for: str) -> Taken:
        command = _options.at(self._asked.command, point)
        name = at_text(point) + what_for
        run, self.versions = _runs.run(self._asked.options, self._facts, command, name)
        return run

    def _add(self, run: Taken, point: Point) -> None:
        self._runs.append(run)
        self.points.append(point)

    def _made(self) -> Tape:
        """Where sizes one of each do not tell enough they are crossed."""
        while True:
            try:
                return made(self._runs, self.points)
            except PartError as error:
                if not self._rounds:
                    raise bad_input(f"record: {error}; more sizes, or others: --vary") from None
                print(f"not yet: {error}", file=sys.stderr)
            for point in self._rounds.pop(0):
                self._add(self._run(point, ""), point)

    def _check(self, check: Point) -> None:
        for tries in range(1, _TRIES + 1):
            self.check = check
            run = self._run(check, ", to check")
            self.why = checked(self.tape, run, check)
            if self.why is None or self._asked.options.check is not None or tries == _TRIES:
                return
            print(f"not yet: at {at_text(check)}: {self.why}", file=sys.stderr)
            self._add(run, check)
            self.tape = self._made()
            check = _options.beyond(self.points)
