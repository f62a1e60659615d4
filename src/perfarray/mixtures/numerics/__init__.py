"""Mixtures on arrays."""
