#!/usr/bin/env bash
# @ast-grep/cli 0.51.1: the built-in rules of `outline --items all` leave out declared names, silently and with exit code 0.
#
# Guess: at the top level of a file without syntax errors, each declared name is listed.
# Seen:  of `var x, y = 1, 2` in Go only x is listed, though `const (P; Q)` gives both. Rust has neither `pub type` nor `macro_rules!`, but
#        constants and structs. Python has neither `a, b = 1, 2` nor `type A = int`, and PHP has no `const`.
# Consequence here: nine languages have rules of this project (plugins/unified_search/outline/declarations).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @ast-grep/cli@0.51.1 >/dev/null
program=$(node -p "require('@ast-grep/cli/postinstall.js').resolveBinaryPath()")
printf 'package p\n\nvar x, y = 1, 2\n\nconst (\n\tP = iota\n\tQ\n)\n' >a.go
printf 'pub type T = u8;\nmacro_rules! mac { () => {} }\npub struct S;\npub const C: u8 = 1;\n' >a.rs
printf 'type A = int\na, b = 1, 2\n\n\ndef f():\n    pass\n' >a.py
printf '<?php\nconst C = 1;\nfunction f() {}\n' >a.php
names() {
  "$program" outline --items all --json=compact "$1" |
    node -e "const files = JSON.parse(require('node:fs').readFileSync(0)); console.log(files.flatMap(({ items }) => items.map(({ name }) => name)).join(' '))"
}
for file in a.go a.rs a.py a.php; do echo "$file: $(names "$file")"; done
[ "$(names a.go)" = 'x P Q' ] && [ "$(names a.rs)" = 'S C' ] && [ "$(names a.py)" = 'f' ] && [ "$(names a.php)" = 'f' ]
