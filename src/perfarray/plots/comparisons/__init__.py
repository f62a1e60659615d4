"""Pictures of comparisons."""
