"""The formulas: NumPy arrays in, NumPy arrays out.

Core axes last, everything before them broadcasts.
"""
