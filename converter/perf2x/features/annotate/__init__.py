"""Costs of source lines and instructions: what ``perf2x annotate`` prints and the page embeds."""
