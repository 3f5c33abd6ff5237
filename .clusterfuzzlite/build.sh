#!/bin/bash -eu
# The build is that of OSS-Fuzz.
exec "$SRC/tensorgate/fuzz/oss-fuzz/build.sh"
