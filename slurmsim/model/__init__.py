"""Descriptions shared by all layers: nodes, partitions, the cluster, what a job asks for. Plain data, no behaviour."""
