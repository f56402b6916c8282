"""Personal-popularity debiasing for recommenders (PPAC, WWW 2024), as a library.

The DVC stages under ``stages/`` are thin doors to the functions here.
"""

import os
import sys

# Before torch starts its threads: those that wait soon sleep instead of spinning on. Where
# something else needs the processors too (a second experiment), spinning is ten times slower.
os.environ.setdefault("GOMP_SPINCOUNT", "30000")

# DVC would take bytecode beside the code for a change of it: see ppac/projects.py. Reading it all
# anew takes a tenth of a second.
sys.dont_write_bytecode = True

__version__ = "0.1.0"
