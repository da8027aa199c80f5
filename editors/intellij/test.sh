#!/usr/bin/env bash
# Everything that must hold for the IntelliJ plugin, from a fresh clone with a built server (make build): it compiles without warnings, the core's tests
# over the real server, the panels clicked in a window, and the zip read by JetBrains' own checker.
# The zip carries the server's wheel: those in the folder that -Dcarrel.wheels=FOLDER names, else one that is made here of this checkout.
# CARREL_TEST_PYTHON: the Python that has the server; that of .venv by default. Arguments go to Maven.
set -euo pipefail
cd "$(dirname "$0")"
exec </dev/null

if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
  echo "Install Maven 3.8 or newer and a JDK 17 or newer first (Debian: apt-get install maven default-jdk)" >&2
  exit 1
fi
missing=()
command -v Xvfb >/dev/null || missing+=(xvfb)
command -v xauth >/dev/null || missing+=(xauth)
fc-list 2>/dev/null | grep -q . || missing+=(fontconfig fonts-dejavu-core)
if ((${#missing[@]})); then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [[ " $* " != *" -Dcarrel.wheels="* ]]; then
  rm -rf target/wheels
  wheels="$PWD/target/wheels"
  (cd ../.. && "${CARREL_TEST_PYTHON:-$PWD/.venv/bin/python}" -m maturin build --release --locked --quiet --out "$wheels")
fi

# Only the test runners speak, and whatever warns.
log=org.slf4j.simpleLogger
xvfb-run -a -s "-screen 0 1280x1024x24" mvn --batch-mode --no-transfer-progress -Dstyle.color=never \
  -D$log.defaultLogLevel=warn -D$log.log.org.apache.maven.plugin.surefire=info -D$log.log.org.apache.maven.plugin.failsafe=info \
  "$@" verify
