"""`mycelia benchmark`: the same networks in Mycelia and its peers, interleaved on one machine."""
