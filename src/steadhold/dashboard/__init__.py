"""dashboard: what a person sees and decides at `/ui`. It reads and acts through the rooms' own doors."""
