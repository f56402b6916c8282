"""Learning-free rankers. One file each; see ``ppac/scorer.py``."""
