"""The rooms of the tree, and which includes which, as a picture."""
