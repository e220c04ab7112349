"""The doctor: looks at everything that graphmem stands on, changes nothing, and says what to do."""
