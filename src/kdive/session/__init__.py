"""One target's life: scope, variables, the owner thread."""
