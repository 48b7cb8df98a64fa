"""slurmdbd's part: rows of ended runs, associations and QOS, and what selects them."""
