"""PyTorch's reference cases played on the stand-in, beside what a GPU was measured to take."""
