"""PPAC with a better personal popularity, and each vote discounted by how popular its item is.

The paper leaves better definitions of personal popularity open; docs/ppac-plus.md has this one.
"""

from __future__ import annotations

from ppac.counting.plus import PlusVariant


class Variant(PlusVariant):
    """As its section of params.yaml says."""
