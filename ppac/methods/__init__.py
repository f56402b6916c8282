"""Debiasing methods around any base model. One file each; see ``ppac/method.py``."""
