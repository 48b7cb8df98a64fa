"""sreport: how the cluster was used, of the hours slurmdbd has summed up."""
