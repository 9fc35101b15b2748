"""What every picture shares."""
