"""What each part of PPAC is worth: the paper's table 3."""

from __future__ import annotations

from ppac.reporting.view import Source, View, beside_printed

METHODS = ["base", "ppac-without-ci", "ppac-without-pp", "ppac-without-gp", "ppac"]


def view(source: Source) -> View:
    return beside_printed(source, "T3", METHODS)
