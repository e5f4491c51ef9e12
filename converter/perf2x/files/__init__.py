"""Files of the machine that converts: outputs, temporary files, limits of what may be unpacked."""
