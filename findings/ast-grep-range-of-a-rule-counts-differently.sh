#!/usr/bin/env bash
# @ast-grep/napi and @ast-grep/cli 0.51.1: one rule with `range` matches different nodes in the two, and neither takes the column of the other.
#
# Guess: both are built from one core and read one form of rules, so a range that one of them reports selects the same node in the other.
# Seen:  on a line with a character outside the Basic Multilingual Plane, such as the letter U+1D4B3, napi counts UTF-16 units and the
#        program counts characters, in what they report and in `range` of a rule. A rule with napi's column finds the call in napi and nothing
#        in the program, with exit code 0; with the program's column it is the other way round. The types call both "column".
#        A rule that is only a `regex` is valid in napi too, and refused by the program.
# Consequence here: plugins/lib/syntax/positions.ts converts positions of napi to bytes and characters before they leave the library.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @ast-grep/napi@0.51.1 @ast-grep/cli@0.51.1 >/dev/null
cat >try.mjs <<'JS'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Lang, parse } from '@ast-grep/napi'
const source = 'const s = "\u{1D4B3}"; save(s)\n'
writeFileSync('source.ts', source)
const root = parse(Lang.TypeScript, source).root()
const scan = (rule) => {
  const text = JSON.stringify({ id: 'rule', language: 'TypeScript', rule })
  const { status, stdout } = spawnSync('npx', ['ast-grep', 'scan', '--json=compact', '--inline-rules', text, 'source.ts'], { encoding: 'utf8' })
  return status === 0 ? JSON.parse(stdout) : `exit code ${status}`
}
const call = { kind: 'call_expression' }
const columns = { napi: root.find({ rule: call }).range().start.column, program: scan(call)[0].range.start.column }
console.log('reported', JSON.stringify(columns))
for (const [name, column] of Object.entries(columns)) {
  const rule = { ...call, range: { start: { line: 0, column }, end: { line: 0, column: column + 7 } } }
  console.log(`column of ${name}: napi finds ${root.findAll({ rule }).length}, the program ${scan(rule).length}`)
}
console.log(`regex alone: napi finds ${root.findAll({ rule: { regex: '^save$' } }).length}, the program: ${scan({ regex: '^save$' })}`)
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
reported {"napi":16,"program":15}
column of napi: napi finds 1, the program 0
column of program: napi finds 0, the program 1
regex alone: napi finds 1, the program: exit code 8
SEEN
