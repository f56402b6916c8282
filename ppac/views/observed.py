"""Learned or observed popularity, in training and at inference: the paper's table 4."""

from __future__ import annotations

from ppac.reporting.view import Source, View, beside_printed

METHODS = ["ppac-pred", "ppac-obs", "ppac"]


def view(source: Source) -> View:
    return beside_printed(source, "T4", METHODS)
