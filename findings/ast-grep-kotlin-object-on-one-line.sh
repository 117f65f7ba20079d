#!/usr/bin/env bash
# @ast-grep/cli 0.51.1, Kotlin: a named object on one line is read as the call of a function `object`, without a syntax error.
#
# Expected: `object Store { val size = 1 }` is the same declaration on one line and on three.
# Seen:  on one line directly after another declaration there is no `object_declaration` and no error node; with a supertype, a modifier, or
#        its body on lines of its own after an empty line, there is one.
# Consequence here: an outline lacks such an object and lists its properties as those of the file; grep finds it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @ast-grep/cli@0.51.1 >/dev/null
program=$(node -p "require('@ast-grep/cli/postinstall.js').resolveBinaryPath()")
printf 'class A\nobject Store { val size = 1 }\n' >plain.kt
printf 'class A\nobject Store : Base() { val size = 1 }\n' >super.kt
printf 'class A\n\nobject Store {\n  val size = 1\n}\n' >lines.kt
count() {
  "$program" scan --inline-rules "{id: q, language: Kotlin, rule: {kind: $2}}" --json=compact "$1" |
    node -p "JSON.parse(require('node:fs').readFileSync(0)).length"
}
for file in plain.kt super.kt lines.kt; do echo "$file: $(count "$file" object_declaration) objects, $(count "$file" ERROR) errors"; done
[ "$(count plain.kt object_declaration)$(count plain.kt ERROR)" = 00 ]
[ "$(count super.kt object_declaration)$(count lines.kt object_declaration)" = 11 ]
