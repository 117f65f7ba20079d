#!/usr/bin/env bash
# oxfmt 0.79.0: the result of a run is not always what a second run writes. So is prettier's, 3.6.2.
#
# Guess: a formatter's output is a fixed point, so `--check` passes after one run.
# Seen: a chain of two calls on one line whose last callback returns an object that needs several lines. The first run puts each call of
#   the chain on a line of its own; the second run joins the calls again, and a third run changes nothing. 6 of our 1,340 files.
# Consequence here: `npm run format` may have to run twice before `npm run check` passes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts oxfmt@0.79.0 prettier@3.6.2 >/dev/null
source='const rows = turns.toReversed().map(({ turn, text, ts }) => ({ value: String(turn), label: cut(text.trim()).slice(0, 200) || "none", description: ago(ts, Date.now()) }))'
printf '{"printWidth":120,"semi":false}' >.oxfmtrc.json
cp .oxfmtrc.json .prettierrc.json
runs() { # NAME COMMAND...: the numbers of lines after each of three runs
  local name=$1 counts=()
  shift
  printf '%s\n' "$source" >"$name.js"
  for _ in 1 2 3; do
    "$@" "$name.js" >/dev/null
    counts+=("$(wc -l <"$name.js")")
  done
  echo "$name: ${counts[*]}"
}
oxfmt=$(runs oxfmt node_modules/.bin/oxfmt)
prettier=$(runs prettier node_modules/.bin/prettier --write)
printf '%s\n%s\n' "$oxfmt" "$prettier"
[ "$oxfmt" = 'oxfmt: 7 5 5' ]
[ "$prettier" = 'prettier: 7 5 5' ]
