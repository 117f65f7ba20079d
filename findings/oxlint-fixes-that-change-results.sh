#!/usr/bin/env bash
# oxlint 1.89.0: `--fix` changes what a program computes, by two rules of its default set.
#
# Guess: fixes that run without `--fix-suggestions` or `--fix-dangerously` keep the behaviour.
# Seen: unicorn/no-useless-spread takes `[...word.slice(1)].map(f)` for a copied array and writes `word.slice(1).map(f)`, where `word` is a
#   string without `map`; `[...text.slice(0, 2)].length` becomes a count of UTF-16 units instead of code points.
#   unicorn/prefer-string-starts-ends-with writes `type.endsWith(x)` for a regular expression, whose `test` took `undefined`.
# Consequence here: the first rule is off in .oxlintrc.json; a fixed test model threw for messages without a type and never answered.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts oxlint@1.89.0 >/dev/null
cat >probe.mjs <<'JS'
const attempt = (run) => {
  try {
    return run()
  } catch (error) {
    return error.constructor.name
  }
}
console.log(
  attempt(() => [...'-abc'.slice(1)].map((letter) => `-${letter}`).join(' ')),
  attempt(() => [...'\u{1f600}x'.slice(0, 2)].length),
  attempt(() => [{ type: 'call' }, {}].filter(({ type }) => /_call$/.test(type)).length),
)
JS
before=$(node probe.mjs)
node_modules/.bin/oxlint --fix probe.mjs >/dev/null || true
after=$(node probe.mjs)
echo "before: $before"
echo "after: $after"
[ "$before" = '-a -b -c 1 0' ]
[ "$after" = 'TypeError 2 TypeError' ]
