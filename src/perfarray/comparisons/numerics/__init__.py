"""Formulas of comparisons."""
