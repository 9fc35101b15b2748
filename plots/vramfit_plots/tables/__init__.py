"""What every table shares."""
