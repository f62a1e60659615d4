"""Compiled twins of the few formulas that gain from it; imported when `engine="numba"` was chosen, and never before."""
