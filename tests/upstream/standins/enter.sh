#!/bin/bash
# enter.sh PREFIX PYTHON COMMAND...: run a command as the user atf, in namespaces of its own, with the keeper beside it.
#
# Two user namespaces give one real user two names: the keeper, and so the cluster's owner, is slurm; the suite is atf.
# /etc/passwd is private, nothing of the machine changes, and all processes end with the command.
set -e
prefix=$1 python=$2
shift 2
if [ -z "$UPSTREAM_INSIDE" ]; then
    exec env UPSTREAM_INSIDE=1 unshare --user --map-root-user --mount --net --pid --fork --kill-child --mount-proc \
        "$0" "$prefix" "$python" "$@"
fi
unset UPSTREAM_INSIDE
ip link set lo up  # a network of its own, as clusters beside each other have one port
for file in passwd group profile; do
    mount --bind "$prefix/namespace/$file" /etc/$file
done
mount --bind "$prefix/tools" /usr/local/bin  # programs that slurm.conf names find sudo there
here=$(dirname "$(readlink -f "$0")")
PATH=$UPSTREAM_PATH USER=slurm HOME=$prefix/home/slurm \
    unshare --user --map-user=64030 --map-group=64030 "$python" -P "$here/../keeper.py" "$prefix" \
    >>"$prefix/var/keeper.log" 2>&1 </dev/null &
keeper=$!
for _ in $(seq 600); do
    [ ! -S "$prefix/var/run/keeper.sock" ] || break
    sleep 0.05
done
code=0
unshare --user --map-user=1000 --map-group=1000 "$@" || code=$?
kill $keeper
wait $keeper || true  # so that its time counts
exit $code
