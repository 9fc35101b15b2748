"""What docs/advice.md shows: rules of thumb, what changes cost, which change helps where."""
