"""The doctor: checks everything that graphmem depends on, changes nothing, and names remedies."""
