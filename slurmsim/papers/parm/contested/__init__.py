"""The paper's number on the large machine, with what the paper leaves open varied."""
