"""squeue: which rows (`rows`), in what order (`order`), with which columns (`columns`, `step_columns`)."""
