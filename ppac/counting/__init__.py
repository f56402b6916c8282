"""Counting how popular items are: among everyone, and among each user's nearest users."""
