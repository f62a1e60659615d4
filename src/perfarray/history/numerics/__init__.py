"""Formulas of series of commits: arrays in, arrays out."""
