#!/usr/bin/env bash
# @xterm/headless 6.0.0: a narrower terminal loses letters of the line where the cursor is, and leaves half of a wide character.
#
# Guess: `resize` wraps long lines again, so that text which a program wrote stays whole, and returns when the terminal is wide again.
# Seen:  with the cursor in another line this holds. The line of the cursor, with all rows that it wraps to, is cut at the new width instead:
#        of "one two three four five" in 10 columns, "one two", "ree fou" and "ive" are left in 7. Back at 10 or 20 columns the letters are
#        still gone. A wide character whose first half is in the last column stays, with width 2 and no second cell; the next row
#        does not begin with it. A program that draws its line again after the signal hides this; one that waits for input does not.
# Consequence here: `screen` after a `resize` may lack letters of the last line; the output of the session has them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @xterm/headless@6.0.0 >/dev/null
cat >try.mjs <<'JS'
import xterm from '@xterm/headless'
const describeRows = (terminal) => {
  const rows = []
  for (let y = 0; y < terminal.rows; y++) {
    const line = terminal.buffer.active.getLine(y)
    const text = line.translateToString(true)
    const isHalf = line.getCell(terminal.cols - 1).getWidth() === 2
    if (text !== '') rows.push(isHalf ? `${text} (half)` : text)
  }
  return rows.join(' | ')
}
for (const text of ['one two three four five', 'one two three four five\r\n', '漢字漢字漢字漢字']) {
  const terminal = new xterm.Terminal({ cols: 10, rows: 6, allowProposedApi: true })
  await new Promise((resolve) => terminal.write(text, resolve))
  console.log(JSON.stringify(text))
  for (const columns of [10, 7, 10]) {
    terminal.resize(columns, 6)
    console.log(`  ${columns}: ${describeRows(terminal)}`)
  }
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
"one two three four five"
  10: one two th | ree four f | ive
  7: one two | ree fou | ive
  10: one two | ree fou | ive
"one two three four five\r\n"
  10: one two th | ree four f | ive
  7: one two |  three  | four fi | ve
  10: one two th | ree four f | ive
"漢字漢字漢字漢字"
  10: 漢字漢字漢 | 字漢字
  7: 漢字漢字 (half) | 字漢字
  10: 漢字漢字 | 字漢字
SEEN
