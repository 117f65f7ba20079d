#!/usr/bin/env bash
# @vscode/ripgrep 1.18.0 (ripgrep 15.0.0): with --binary, line numbers of one file depend on how the file was named.
#
# Guess: --binary searches on after a NUL byte and changes nothing else, so a match has the line number that --text reports.
# Seen:  a file with two NUL bytes in its first line and the word in its second. `--json --binary` reports line 4 when the file is found in a
#        folder, and when it is named with --no-mmap: each NUL byte before the match counts as a line. Named directly, and with --text in each
#        way, the same file gives line 2. The JSON carries no mark of this; `begin` and `match` look the same.
# Consequence here: searches of folders use --text and judge the text form themselves, so that lines of a match can be read and edited.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @vscode/ripgrep@1.18.0 >/dev/null
rg=$(node -e "import('@vscode/ripgrep').then(({ rgPath }) => console.log(rgPath))")
mkdir files
printf 'one\0two\0three\nneedle\n' >files/data.log
line() { "$rg" --no-config --json "$@" | grep -o '"line_number":[0-9]*' | cut -d: -f2; }
seen="$(line --binary needle files) $(line --binary --no-mmap needle files/data.log) $(line --binary needle files/data.log) $(line --text needle files) $(line --text --no-mmap needle files/data.log)"
echo "folder, no-mmap, named, text in folder, text no-mmap: $seen"
[ "$seen" = '4 4 2 2 2' ]
