"""Other ways to rank with ppac's trained model; see ``ppac/scoring/variant.py``. One file each."""
