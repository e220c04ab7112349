"""Reviews: ratings of the memory of an episode."""
