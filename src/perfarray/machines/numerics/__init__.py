"""Regressions and components on arrays."""
