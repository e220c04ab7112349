"""The domain model: frozen structs and the vocabulary that all parts share."""
