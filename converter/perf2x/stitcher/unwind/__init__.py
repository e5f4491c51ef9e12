"""User registers and stack bytes to chains."""
