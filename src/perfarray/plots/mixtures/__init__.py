"""Pictures of runs and of mixtures."""
