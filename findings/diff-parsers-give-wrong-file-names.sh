#!/usr/bin/env bash
# parse-diff 0.12.0, gitdiff-parser 0.3.1, what-the-diff 0.6.0, parse-git-patch 2.1.1: file names that git quotes or marks come out wrong.
#
# Guess: libraries made to read the output of `git diff` give the names of the files, at least for a space, which git does not quote.
# Seen:  git ends the "---" and "+++" lines of a name with a space by a tab, and quotes a name with a quotation mark.
#          parse-diff       space right; quoted name keeps git's backslash
#          gitdiff-parser   name with a space ends with the tab; quoted name begins with "/" and ends with the quotation mark
#          what-the-diff    keeps the prefix "b/" of changed files (not of renamed ones); quoted name keeps quotation marks and backslash
#          parse-git-patch  space right; quoted name keeps the backslash and the quotation mark, the old name has another one behind it
#        None of the four throws, so a caller would create or change a file of another name.
# Consequence here: our reader of patches takes off git's quotes and its tab itself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts parse-diff@0.12.0 gitdiff-parser@0.3.1 what-the-diff@0.6.0 parse-git-patch@2.1.1 >/dev/null
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
git init -q repo
cd repo
printf 'one\n' | tee 'my file.txt' >'say"hi".txt'
printf '1\n2\n3\n4\n' >old.txt
git add . && git commit -qm one
printf 'two\n' | tee 'my file.txt' >'say"hi".txt'
git mv old.txt new.txt
git commit -qam two
git diff HEAD~1 >../git.diff
cd ..
cat >try.mjs <<'JS'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import gitdiffParser from 'gitdiff-parser'
import parseDiff from 'parse-diff'
import { parse as whatTheDiff } from 'what-the-diff'
const parseGitPatch = createRequire(import.meta.url)('parse-git-patch')
const text = readFileSync('git.diff', 'utf8')
const print = (library, names) => console.log(library, JSON.stringify(names))
print('parse-diff', parseDiff(text).map(({ from, to }) => [from, to]))
print('gitdiff-parser', gitdiffParser.parse(text).map(({ oldPath, newPath }) => [oldPath, newPath]))
print('what-the-diff', whatTheDiff(text).map(({ oldPath, newPath, filePath }) => [oldPath ?? filePath, newPath ?? filePath]))
const { files } = (parseGitPatch.default ?? parseGitPatch)(text)
print('parse-git-patch', files.map(({ beforeName, afterName }) => [beforeName, afterName]))
JS
node try.mjs | tee seen.txt
cat >expected.txt <<'TXT'
parse-diff [["my file.txt","my file.txt"],["old.txt","new.txt"],["say\\\"hi\\\".txt","say\\\"hi\\\".txt"]]
gitdiff-parser [["my file.txt\t","my file.txt\t"],["old.txt","new.txt"],["/say\\\"hi\\\".txt\"","/say\\\"hi\\\".txt\""]]
what-the-diff [["b/my file.txt","b/my file.txt"],["old.txt","new.txt"],["\"b/say\\\"hi\\\".txt\"","\"b/say\\\"hi\\\".txt\""]]
parse-git-patch [["my file.txt","my file.txt"],["old.txt","new.txt"],["say\\\"hi\\\".txt\" \"","say\\\"hi\\\".txt\""]]
TXT
diff seen.txt expected.txt
