"""Large machines: a synthetic Intrepid, and the log of Theta."""
