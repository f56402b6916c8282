"""Metrics of ranked lists. One file each; see ``ppac/lists.py`` for what they are given."""
