"""The parts that all ways of asking share: candidates, fusing, weighing, packing, rendering."""
