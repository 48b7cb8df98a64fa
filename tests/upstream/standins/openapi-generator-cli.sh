#!/bin/bash
# The generator as its own start script runs it: the one from the Python index hands JAVA_OPTS over as one word.
exec java $JAVA_OPTS -jar "$UPSTREAM_GENERATOR" "$@"
