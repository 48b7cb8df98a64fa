"""`python -m slurmsim` is the `slurmsim` command."""

import sys

from slurmsim.cli import main

sys.exit(main())
