"""Formulas of calibration, on arrays without labels."""
