#!/usr/bin/env bash
# unbash 6.0.4: some words that bash expands are plain words of its tree.
#
# Guess: a word without parts is passed to the program as its value, because the tree has parts for braces, variables and patterns.
# Seen: `{a,b}` and `a{1..3}` have a part BraceExpansion. `a{},}` has no parts, and bash makes the words `a}` and `a` of it. Tildes have
#   no part at all: bash puts the home into `~/x`, and into what only looks like an assignment, `if=~/x` and `path=a:~/x` as arguments
#   of a program such as dd; `--opt=~/x` and `a:~/b` stay as they are.
# Consequence here: plugins/lib/shell/read_word.ts calls such words dynamic (test/plugins/lib/shell/read_command.test.ts).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts unbash@6.0.4 >/dev/null
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { parse } from 'unbash'

const read = (word) => parse(`printf '%s\\n' ${word}`).commands[0].command.suffix.at(-1)
const expand = (word) => execFileSync('bash', ['-c', `printf '%s\\n' ${word}`], { encoding: 'utf8', env: { HOME: '/home/me', PATH: process.env.PATH } }).trim().split('\n')

for (const word of ['{a,b}', 'a{1..3}']) assert.ok(read(word).parts.some(({ type }) => type === 'BraceExpansion'))
const expected = { 'a{},}': ['a}', 'a'], '~/x': ['/home/me/x'], 'if=~/x': ['if=/home/me/x'], 'path=a:~/x': ['path=a:/home/me/x'] }
for (const [word, words] of Object.entries(expected)) {
  assert.deepEqual([read(word).parts, read(word).value, expand(word)], [undefined, word, words])
  console.log(`${word}: plain in the tree, ${words.join(' ')} in bash`)
}
for (const word of ['--opt=~/x', 'a:~/b', '{}']) assert.deepEqual([read(word).parts, expand(word)], [undefined, [word]])
JS
node probe.mjs
