"""sinfo: which nodes share a line (`groups`), and which columns it has (`columns`)."""
