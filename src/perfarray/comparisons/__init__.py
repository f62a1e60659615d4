"""Is it faster, by how much, how sure."""
