#!/usr/bin/env bash
# Everything that must hold for the VS Code extension, from a fresh clone with a built server (make build): test.sh [static | package | host | languages | prompts | python | large | incident]
#   static  types, lint, generated files, unit tests
#   package only makes the .vsix, as small as it gets (minutes), or QUICK=1: not so small; OFFLINE=1: with a Python inside, OFFLINE=FILE: with
#           the one of this archive
#   host    the packaged .vsix in the extension host of a real VS Code (Mocha), and tours of its screen (Linux on x64)
#   languages only the tour in every language of the extension's; host has it in one
#   prompts only what @carrel sends of two unknown projects (docs/quality.md), as a table; not part of the others
#   python  only a tour of a machine without a Python that fits; not part of the others, as notifications that come and go hide its buttons
#   large   only a project of 50,000 files: indexing, cancel, a question meanwhile, resume; not part of the others, as it takes minutes
#   incident only a tour of a runbook's incident with real tools; not part of the others, as it takes a minute on a busy machine
# Static and host without an argument. The editor is kept in a cache, so that a second run is quick; without one it takes minutes.
# PYTHON: the interpreter whose pip lays the server ready. CARREL_WHEEL: package this wheel in place of the repository's own build.
# PICTURES: a folder for screenshots. PACKAGED=1: test the .vsix that lies here in place of making one.
set -euo pipefail
cd "$(dirname "$0")"
exec </dev/null
part="${1:-all}"
editor="${CARREL_TEST_EDITOR:-${XDG_CACHE_HOME:-$HOME/.cache}/carrel-build/vscode-editor}"
step() { printf '\n== VS Code: %s (%d s)\n' "$1" "$SECONDS"; }
stop() { printf '%s\n' "$@" >&2; exit 1; }

step "what the machine needs"
node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || stop "Install Node.js 20 or newer first: https://nodejs.org"
# What is slow here is the network: npm and pip try again by themselves where it fails, and nothing else is tried twice.
export npm_config_fetch_retries=5 PIP_RETRIES=5
[[ node_modules/.package-lock.json -nt package-lock.json ]] || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

package() {
  if [[ -n ${CARREL_WHEEL:-} ]]; then local from=(--wheel "$CARREL_WHEEL"); else local from=(--source); fi
  case "${OFFLINE:-}" in '') ;; 1) from+=(--offline) ;; *) from+=(--offline --archive "$OFFLINE") ;; esac
  rm -f ./*.vsix
  npm run --silent bundle-server -- "${from[@]}"
  npm run --silent package -- "$@" | tail -n 1
}

if [[ $part == package ]]; then
  step "the package"
  package ${QUICK:+--quick}
  ls -l ./*.vsix
  exit
fi
if [[ $part != host && $part != languages && $part != prompts && $part != python && $part != large && $part != incident ]]; then
  step "types, lint, generated files"
  npm run --silent check
  step "unit tests"
  npm run --silent test:unit
fi
if [[ $part == static ]]; then exit; fi

[[ $(uname -sm) == "Linux x86_64" ]] || stop "The editor of these tests is for Linux on x64, this is $(uname -sm): run 'test.sh static' alone."
browser="${CHROMIUM:-chromium}"
if ! command -v "$browser" >/dev/null; then
  [[ -z ${CHROMIUM:-} ]] || stop "CHROMIUM=$CHROMIUM is no program."
  if ! command -v apt-get >/dev/null || [[ $(id -u) != 0 ]]; then
    stop "These tests need a browser. Install Chromium, or set CHROMIUM=/path/to/chromium (Debian, as root: apt-get install chromium)."
  fi
  step "the browser"
  apt=(apt-get -qq -o Acquire::Retries=5)
  if ! "${apt[@]}" update || ! DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y --no-install-recommends chromium >/dev/null; then
    stop "Chromium can't be installed with apt-get (see above). Install it, or set CHROMIUM=/path/to/chromium."
  fi
fi
CHROMIUM="$(command -v "$browser")"
export CHROMIUM

if [[ -z ${PACKAGED:-} ]]; then
  step "the package"
  package --quick
fi
vsix="$(echo ./*.vsix)"
[[ -f $vsix ]] || stop "One .vsix must lie in $PWD for PACKAGED=1: run 'test.sh package' first."
node scripts/build.mjs --tests

step "the editor"
test/editor/install.sh "$editor"

if [[ $part == languages ]]; then
  step "in every language"
  node test/editor/language.mjs "$editor" "$vsix" de,zh-cn ${PICTURES:+"$PICTURES"}
  exit
fi
if [[ $part == prompts ]]; then
  step "what is sent of unknown projects"
  node test/editor/prompts.mjs "$editor" "$vsix" "${PYTHON:-../../.venv/bin/python}"
  exit
fi
if [[ $part == python ]]; then
  step "a machine without Python"
  node test/editor/python.mjs "$editor" "$vsix" ${PICTURES:+"$PICTURES"}
  exit
fi
if [[ $part == large ]]; then
  step "a project of 50,000 files"
  node test/editor/large.mjs "$editor" "$vsix" ${PICTURES:+"$PICTURES"}
  exit
fi
if [[ $part == incident ]]; then
  step "an incident by its runbook"
  node test/editor/incident.mjs "$editor" "$vsix" ${PICTURES:+"$PICTURES"}
  exit
fi
# All editors begin with what the first one installed and unpacked.
CARREL_TEST_KEPT="$(mktemp -d)"
export CARREL_TEST_KEPT
trap 'rm -rf "$CARREL_TEST_KEPT"' EXIT
step "in a real VS Code"
node test/editor/run.mjs "$editor" "$vsix"

step "a new person's first minutes; a remote model: permission and key"
node test/editor/tour.mjs "$editor" "$vsix" ${PICTURES:+"$PICTURES"}
step "without a chat model"
node test/editor/places.mjs "$editor" "$vsix" ${PICTURES:+"$PICTURES"}
step "in Chinese"
node test/editor/language.mjs "$editor" "$vsix" zh-cn ${PICTURES:+"$PICTURES"}
step "done"
