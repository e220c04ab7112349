// The types of links between memories, as `make queries` writes them.
RELATES_TO|REFERENCES|REFINES|CONTRADICTS|DERIVED_FROM
