"""Memory behind one interface: physical, translated, fragments."""
