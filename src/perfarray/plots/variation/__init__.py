"""Pictures of components and plans."""
