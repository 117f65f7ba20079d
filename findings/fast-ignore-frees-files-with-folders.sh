#!/usr/bin/env bash
# fast-ignore 2.0.0: the usual way to allow some kinds of files only, `*` with `!*/`, ignores nothing.
#
# Guess: a parser of .gitignore files gives git's answer for the idiom `*`, `!*/`, `!*.c` and for the classes of fnmatch.
# Seen:  1. After `*` and `!*/` every file of a folder and of the top counts as included: the rule for folders frees the files too, so
#           secrets.env is not ignored. For git a rule with `/` at its end concerns folders alone.
#        2. `[[:lower:]].txt` matches one of the letters of the word, then `]`: no file x.txt is ignored, and q].txt none either.
#        3. `Build/` ignores build/a.o too, on systems whose file names differ by case; ignore 7.0.17 does that by an option that it names.
# Consequence here: core/text/ignore_list.ts compares folders and files apart, and names lines with such a class as unused.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts fast-ignore@2.0.0 >/dev/null
export GIT_CONFIG_GLOBAL=/dev/null
git init -q repo
mkdir repo/src repo/build
touch repo/main.c repo/secrets.env repo/src/main.c repo/src/secrets.env repo/x.txt repo/l.txt 'repo/l].txt' repo/build/a.o
cat >try.mjs <<'JS'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import fastIgnore from 'fast-ignore'
const files = ['main.c', 'secrets.env', 'src/main.c', 'src/secrets.env', 'x.txt', 'l.txt', 'l].txt', 'build/a.o']
for (const rules of ['*\n!*/\n!*.c\n', '[[:lower:]].txt\n', 'Build/\n']) {
  writeFileSync('repo/.gitignore', rules)
  const listed = execFileSync('git', ['ls-files', '-o', '--exclude-standard'], { cwd: 'repo', encoding: 'utf8' }).split('\n')
  const isIgnored = fastIgnore(rules)
  console.log(rules.trim().replaceAll('\n', ' '))
  console.log(`  git ignores ${files.filter((file) => !listed.includes(file)).join(' ') || 'nothing'}`)
  console.log(`  fast-ignore ignores ${files.filter((file) => isIgnored(file)).join(' ') || 'nothing'}`)
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
* !*/ !*.c
  git ignores secrets.env src/secrets.env x.txt l.txt l].txt build/a.o
  fast-ignore ignores nothing
[[:lower:]].txt
  git ignores x.txt l.txt
  fast-ignore ignores l].txt
Build/
  git ignores nothing
  fast-ignore ignores build/a.o
SEEN
