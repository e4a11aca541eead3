#!/usr/bin/env bash
# Spark 4 needs Java 17 or later: say how to get it when it is not there.
set -euo pipefail
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || true
if [ "${version:-0}" -lt 17 ]; then
    printf 'Spark needs Java 17 or later, found %s.\n  install it with: %s\n' "${version:-none}" "apt-get install openjdk-17-jre-headless" >&2
    exit 1
fi
