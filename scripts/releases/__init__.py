"""PyTorch's and transformers' releases, played on the stand-in, and what moved between them."""
