"""Loss operators: cross entropy, regression, margin, CTC, and sampled losses."""
