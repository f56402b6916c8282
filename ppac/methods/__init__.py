"""Debiasing methods around any base model. One file each; see ``ppac/scoring/method.py``."""
