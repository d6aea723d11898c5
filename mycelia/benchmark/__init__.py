"""`mycelia benchmark`: the same nets in Mycelia and its peers, interleaved on one machine."""
