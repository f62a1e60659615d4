"""Scores of suites on arrays."""
