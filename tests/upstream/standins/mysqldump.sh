#!/bin/bash
# What mysql.sh reads back: the cluster's folder. Sockets and programs are made anew.
exec tar -c -C "$UPSTREAM_PREFIX/var" --exclude=cluster/slurmctld.sock --exclude=cluster/lock cluster
