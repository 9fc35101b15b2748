"""One figure of every runtime: what was predicted to be taken of a card, and what was measured."""
