"""Numbers as the report writes them. GB is 1e9 bytes; MiB and GiB only where written."""

from collections.abc import Iterable

GB = 1e9
MIB = 2**20

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
MISSING = "\N{EN DASH}"
OOM = "OOM"
_NO_BREAK = "\N{NO-BREAK SPACE}"


def number(value: float, decimals: int = 0, signed: bool = False) -> str:
    """With thousands separators and a true minus sign; never a negative zero."""
    rounded = round(value, decimals) + 0.0
    sign = "+" if signed and rounded > 0 else ""
    return f"{sign}{rounded:,.{decimals}f}".replace("-", MINUS)


def gb(value: float, decimals: int = 1, signed: bool = False) -> str:
    """Bytes in GB, without the unit."""
    return number(value / GB, decimals, signed)


def with_unit(figure: str, unit: str) -> str:
    return f"{figure}{_NO_BREAK}{unit}"


def gigabytes(value: float, decimals: int = 1) -> str:
    """Bytes in GB, with the unit."""
    return with_unit(gb(value, decimals), "GB")


def mib(value: float, decimals: int = 0, signed: bool = False) -> str:
    """Bytes in MiB, with the unit."""
    return with_unit(number(value / MIB, decimals, signed), "MiB")


def percent(ratio: float, decimals: int = 1, signed: bool = True) -> str:
    return with_unit(number(100 * ratio, decimals, signed), "%")


def share(ratio: float, decimals: int = 1) -> str:
    """A percentage of a whole, which has no sign."""
    return percent(ratio, decimals, signed=False)


def batch(value: float) -> str:
    """A largest batch; none at all is the article's OOM."""
    return number(value) if value > 0 else OOM


def times(*factors: object) -> str:
    return f" {TIMES} ".join(str(factor) for factor in factors)


def in_words(names: Iterable[str]) -> str:
    """ "FP32, FP16 and BF16"; "" of none."""
    *others, last = ["", *names]
    return f"{', '.join(others[1:])} and {last}" if others[1:] else last
