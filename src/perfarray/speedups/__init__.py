"""The Speedup-Test's protocols and files."""
