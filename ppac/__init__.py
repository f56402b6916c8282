"""Personal-popularity debiasing for recommenders (PPAC, WWW 2024), as a library.

The DVC stages under ``stages/`` are thin doors to the functions here.
"""

__version__ = "0.1.0"
