"""Tables as text: fitted to a terminal, as Markdown, CSV or JSON. Pure functions but for ``show``, which prints."""
