#!/usr/bin/env bash
# install.sh DIR: lay a real VS Code ready in DIR, once. A second call with the same versions does nothing.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
dir=$1
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9 # two test runs may share the cache
cmp -s "$here/package.json" "$dir/installed.json" && exit 0
rm -rf "$dir/node_modules" "$dir/installed.json"
cp "$here/package.json" "$dir/package.json"
cd "$dir"
quiet=(--ignore-scripts --no-audit --no-fund --loglevel=error)
PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install "${quiet[@]}"
cd node_modules/code-server/lib/vscode # its lock file is out of step, so not `npm ci`
npm install --omit=dev "${quiet[@]}"
ln -sf code-linux.sh bin/remote-cli/code-server
cp "$here/package.json" "$dir/installed.json"
