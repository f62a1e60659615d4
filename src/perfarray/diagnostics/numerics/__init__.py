"""Formulas of what data can bear: arrays in, arrays out."""
