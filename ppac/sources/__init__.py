"""Finding, fetching and verifying raw data."""
