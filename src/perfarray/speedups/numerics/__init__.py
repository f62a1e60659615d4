"""The Speedup-Test's protocols on arrays."""
