"""What a controller knows, shared by all its parts, and what the parts may ask of each other."""
