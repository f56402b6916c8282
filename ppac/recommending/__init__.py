"""Recommendations for use: the best items of each user, in the user's own ids, and why."""
