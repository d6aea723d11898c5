"""Programs over several devices: what can be cut, what it costs, and the search for layouts."""
