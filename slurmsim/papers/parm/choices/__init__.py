"""What the PARM paper leaves open, varied."""
