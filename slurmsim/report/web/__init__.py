"""The page one can work in: its data packed into it, its scripts and styles, and the frame all pages share."""
