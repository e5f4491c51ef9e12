"""Tables as text: fitted to a terminal, as Markdown, CSV or JSON. Pure functions, except for ``show``, which prints."""
