"""Metrics of ranked lists. One file each; see ``ppac/scoring/lists.py`` for what they are given."""
