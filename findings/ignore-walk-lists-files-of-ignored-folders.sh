#!/usr/bin/env bash
# ignore-walk 8.0.0, the walker of npm's packlist, with `ignoreFiles: ['.gitignore']`: it lists files that git ignores, and hides others.
#
# Guess: a .gitignore file hides the same files from ignore-walk as from git.
# Seen:  1. `build/` and `!build/keep.js`: ignore-walk lists build/keep.js and, with it, build/drop.js. For git a file below an ignored folder
#           stays ignored.
#        2. `{a,b}.txt` are braces of a shell: a.txt and b.txt are hidden, which git lists, and the file `{a,b}.txt`, which git ignores, is
#           listed.
#        3. `!!c.txt` ignores c.txt, since each `!` turns the meaning round. For git the second `!` is a letter of the name.
#        ignore 7.0.17 agrees with git in all three.
# Consequence here: core/text/ignore_list.ts reads such files itself, and no line frees a file below an ignored folder.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ignore-walk@8.0.0 ignore@7.0.17 >/dev/null
export GIT_CONFIG_GLOBAL=/dev/null
git init -q repo
mkdir repo/build
touch repo/build/keep.js repo/build/drop.js repo/a.txt repo/b.txt repo/c.txt 'repo/{a,b}.txt' 'repo/!c.txt'
cat >try.mjs <<'JS'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import ignore from 'ignore'
import walk from 'ignore-walk'
const files = ['build/keep.js', 'build/drop.js', 'a.txt', 'b.txt', 'c.txt', '{a,b}.txt', '!c.txt']
const git = () => execFileSync('git', ['ls-files', '-o', '--exclude-standard'], { cwd: 'repo', encoding: 'utf8' }).split('\n')
const libraries = {
  git,
  ignore: () => ignore().add(readFileSync('repo/.gitignore', 'utf8')).filter(files),
  'ignore-walk': () => walk.sync({ path: 'repo', ignoreFiles: ['.gitignore'] }),
}
for (const rules of ['build/\n!build/keep.js\n', '{a,b}.txt\n', '!!c.txt\n']) {
  writeFileSync('repo/.gitignore', rules)
  console.log(rules.trim().replace('\n', ' and '))
  for (const [name, list] of Object.entries(libraries)) {
    const listed = list()
    console.log(`  ${name} hides ${files.filter((file) => !listed.includes(file)).join(' ') || 'nothing'}`)
  }
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
build/ and !build/keep.js
  git hides build/keep.js build/drop.js
  ignore hides build/keep.js build/drop.js
  ignore-walk hides nothing
{a,b}.txt
  git hides {a,b}.txt
  ignore hides {a,b}.txt
  ignore-walk hides a.txt b.txt
!!c.txt
  git hides nothing
  ignore hides nothing
  ignore-walk hides c.txt
SEEN
