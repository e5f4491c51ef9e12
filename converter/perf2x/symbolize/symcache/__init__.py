"""Lines and inlined frames from DWARF, kept between conversions."""
