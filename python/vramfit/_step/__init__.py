"""The step of `vramfit model`: transformers' own code of any causal language model, by a script of
ours. It runs in the Python that has PyTorch, which need not be vramfit's.
"""
