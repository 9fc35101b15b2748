"""The runs of data/runs over time: what each row took, and what changed around it."""
