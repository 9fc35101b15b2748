"""Random starts of vLLM: what `fit` answers, beside what it made of the stand-in."""
