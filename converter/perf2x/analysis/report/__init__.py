"""Tables of a profile that a report needs beside those of ``top`` and ``diff``: callers, hottest paths, shares."""
