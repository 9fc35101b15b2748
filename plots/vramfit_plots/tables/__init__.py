"""The article's tables, one file each: what a row holds, and from which rows of a run."""
