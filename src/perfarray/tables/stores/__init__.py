"""Timings as netCDF files and Zarr stores."""
