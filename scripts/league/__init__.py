"""What others measured on their own cards, beside what vramfit says of the same question."""
