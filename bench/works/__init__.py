"""One file per work. Libraries are imported where a contender is prepared: in its own process."""
