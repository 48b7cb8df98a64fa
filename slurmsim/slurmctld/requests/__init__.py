"""What clients ask for, a module a kind of request, in rooms; `shapes.requests` has the shapes of all."""
