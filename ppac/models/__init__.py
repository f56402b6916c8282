"""Base models: what is to be debiased. One file each; see ``ppac/model.py`` for the protocol."""
