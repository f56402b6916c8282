"""The training loop, its sampler and its checkpoints."""
