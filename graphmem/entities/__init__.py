"""Entities: names that memories mention, and their aliases."""
