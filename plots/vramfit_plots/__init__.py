"""Turns vramfit's benchmark JSON into the article's tables and figures."""
