"""Modes: mixtures of distributions and what follows from them."""
