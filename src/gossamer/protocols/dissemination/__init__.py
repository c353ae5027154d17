"""How messages travel over an overlay: by flooding, or along a tree for each topic."""
