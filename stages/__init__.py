"""The pipeline's stages: thin doors from the command line to the library."""
