"""When a run was: Google Benchmark writes local time with its offset, so texts are in no order."""

from datetime import datetime, timezone

UNDATED = datetime.min.replace(tzinfo=timezone.utc)  # before all that have a date


def instant(text: str) -> datetime:
    """Of ISO 8601, in UTC, which is also meant where no offset is written. UNDATED where the text
    is no date."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        if found.tzinfo is None:
            return found.replace(tzinfo=timezone.utc)
        return found.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return UNDATED
