"""The paper's testbed of 38 nodes."""
