"""The mirror in MLflow."""
