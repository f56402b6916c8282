"""From raw rows to train, validation and tests."""
