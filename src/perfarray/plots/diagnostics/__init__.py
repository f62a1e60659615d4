"""Pictures of measurements in their order."""
