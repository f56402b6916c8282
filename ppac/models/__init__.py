"""Base models: what is to be debiased. One file each; see ``ppac/scoring/model.py``."""
