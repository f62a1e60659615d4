"""A whole suite: scores, their distributions and their comparisons."""
