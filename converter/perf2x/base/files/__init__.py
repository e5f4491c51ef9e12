"""Files of the converting machine: outputs, temporary files, and limits for unpacking."""
