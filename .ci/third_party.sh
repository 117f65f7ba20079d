#!/usr/bin/env bash
# The plugin of somebody else, who has nothing of ours but the packed program: built, tested, packed, installed and called. Arguments: the tarball, an empty folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tarball=$1
work=$2
cp -R "$(dirname "$0")/../test/fixtures/third_party" "$work/plugin"
cd "$work/plugin"
npm install --ignore-scripts --no-audit --no-fund --no-package-lock --silent "$tarball"
npm test
npm pack --silent --ignore-scripts --pack-destination "$work" >/dev/null
export HOME="$work/home"
mkdir -p "$HOME" "$work/ws"
cd "$work/ws"
printf 'to be or not to be\n' >a.txt
vtcode=$work/plugin/node_modules/.bin/vtcode
"$vtcode" plugins add "$work"/acme-text-tools-*.tgz --yes
"$vtcode" call word_frequency --path a.txt --limit 1 | grep -F '"count":2'
"$vtcode" plugins remove acme-text-tools
# The way of an author, from the same package alone.
mkdir "$work/author"
node "$here/author.mjs" "$vtcode" "$work/author"
