"""HTTP: decode, call one use case, answer."""
