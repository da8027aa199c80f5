#!/usr/bin/env bash
# Everything that must hold for the VS Code extension, from a fresh clone with a built server (make build): types, lint, generated files,
# unit tests, the packaged .vsix, and the Mocha suite in the extension host of a real VS Code.
# PYTHON: the interpreter whose pip lays the server ready. CARREL_WHEEL: package this wheel in place of the repository's own build.
# PICTURES: a folder for screenshots.
set -euo pipefail
cd "$(dirname "$0")"
exec </dev/null
editor="${CARREL_TEST_EDITOR:-${XDG_CACHE_HOME:-$HOME/.cache}/carrel-build/vscode-editor}"
step() { printf '\n== %s\n' "$1"; }

step "what the machine needs"
command -v node >/dev/null || { echo "Install Node.js 20 or newer first" >&2; exit 1; }
if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
export CHROMIUM="$(command -v "${CHROMIUM:-chromium}")"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

step "types, lint, generated files"
npm run --silent check

step "unit tests"
npm run --silent test:unit

step "the package"
if [[ -n "${CARREL_WHEEL:-}" ]]; then from=(--wheel "$CARREL_WHEEL"); else from=(--source); fi
npm run --silent bundle-server -- "${from[@]}"
npm run --silent package | tail -n 1
vsix="$(ls -t ./*.vsix | head -n 1)"

step "in a real VS Code"
test/editor/install.sh "$editor"
node test/editor/run.mjs "$editor" "$vsix"

step "a new person's first minutes"
node test/editor/tour.mjs "$editor" "$vsix" ${PICTURES:+"$PICTURES"}
