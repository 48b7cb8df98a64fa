"""Wild worlds: whole inputs of a run, drawn from a number, run, judged, counted a second time, and made small."""
