"""Every type of causal language model that transformers has, small, on the stand-in."""
