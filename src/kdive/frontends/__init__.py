"""How a person or a program reaches a session."""
