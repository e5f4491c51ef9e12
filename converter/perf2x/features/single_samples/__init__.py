"""Single samples as they were recorded, for formats that write each of them."""
