"""The words of the domain: frozen structs that say what is remembered, asked and answered."""
