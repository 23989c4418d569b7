"""Pages: self-contained HTML to read, with plots, no script, and nothing loaded from anywhere.

frame   the style of a page, by day and by night, and the order of its parts
charts  plots as boxes whose sizes are counts
"""
