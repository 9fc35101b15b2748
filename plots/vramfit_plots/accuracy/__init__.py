"""How well `fit --runtime pytorch` predicts what PyTorch was measured to take: data/reference."""
