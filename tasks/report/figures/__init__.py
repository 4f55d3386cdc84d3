"""How the report draws: each module one kind of figure, as inline SVG."""
