"""Records of reads."""
