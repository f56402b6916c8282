"""What it takes to run the peers that are not one function call."""
