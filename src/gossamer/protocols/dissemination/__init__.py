"""How messages travel over an overlay."""
