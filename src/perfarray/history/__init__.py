"""A metric over commits or days: what changed, when, and by how much."""
