"""Random questions: what `fit` answers, beside what PyTorch took of the stand-in."""
