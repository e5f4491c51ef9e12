"""Pack a recording with what names its samples, and unpack it elsewhere."""
