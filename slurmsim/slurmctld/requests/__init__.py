"""What clients ask for, a module a kind of request; the door with the shapes of all of them is `request_shapes`."""
