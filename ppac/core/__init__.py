"""What every stage stands on: settings, files, names of things, interactions, popularity."""
