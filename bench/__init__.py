"""Benchmarks against named peers, side by side: see bench/README.md."""
