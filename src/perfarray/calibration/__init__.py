"""Timings whose truth is known."""
