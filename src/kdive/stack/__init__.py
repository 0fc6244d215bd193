"""Stack unwinding."""
