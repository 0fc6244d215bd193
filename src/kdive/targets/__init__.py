"""Ways to reach a target, one module each."""
