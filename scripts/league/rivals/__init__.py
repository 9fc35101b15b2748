"""What else says how much memory a run takes, held against the same measurements."""
