"""Learning-free rankers. One file each; see ``ppac/scoring/scorer.py``."""
