"""Reviews: how well an episode was remembered."""
