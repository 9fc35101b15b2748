"""What the report is about, a module for each: what it reads, its table and its picture."""
