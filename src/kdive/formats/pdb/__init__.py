"""Program databases (MSF 7.00)."""
