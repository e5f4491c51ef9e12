"""Samples one by one, as they were recorded, for formats that write each of them."""
