"""The formulas: NumPy arrays in, NumPy arrays out; core axes last, everything before them broadcasts."""
