#!/usr/bin/env bash
# @ast-grep/cli 0.51.1: `inside` with a `field` matches only the first child of that field.
#
# Expected: in Go's `var x, y = 1, 2` both names are children of the field `name`, so `inside: { kind: var_spec, field: name }` finds x and y.
# Seen:  only x is found, without a remark. Without `field` both are, and `--debug-query` shows `name:` before each of them.
# Consequence here: our rules for names of a declaration use the kind of the parent and no field.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @ast-grep/cli@0.51.1 >/dev/null
program=$(node -p "require('@ast-grep/cli/postinstall.js').resolveBinaryPath()")
printf 'package p\n\nvar x, y = 1, 2\n' >a.go
names() {
  "$program" scan --inline-rules "{id: q, language: Go, rule: {kind: identifier, inside: {kind: var_spec$1}}}" --json=compact a.go |
    node -p "JSON.parse(require('node:fs').readFileSync(0)).map(({ text }) => text).join(' ')"
}
echo "with the field: $(names ', field: name')"
echo "without it: $(names '')"
[ "$(names ', field: name')" = 'x' ] && [ "$(names '')" = 'x y' ]
