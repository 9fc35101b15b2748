"""What can be wrong with what we are given."""


class BadInputError(Exception):
    """One line that names the file and what is wrong with it."""


class AbsentError(LookupError):
    """A row or counter that this run does not hold: what needs it is left out, and said so."""
