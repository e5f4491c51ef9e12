"""Files of the converting machine: outputs, temporary files, limits on unpacking, and what systems do differently."""
