// Draws the pictures of docs/terminal.md from the screens that the tests keep with their colors; needs chromium. `node scripts/pictures.mjs`
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const colors = { 31: '#e06c75', 32: '#98c379', 33: '#e5c07b', 34: '#61afef', 35: '#c678dd', 36: '#56b6c2' }
const styles = {
  1: 'font-weight:bold',
  2: 'opacity:.6',
  3: 'font-style:italic',
  4: 'text-decoration:underline',
  7: 'background:#dcdfe4;color:#282c34',
  9: 'text-decoration:line-through',
}
const escaped = (text) => text.replace(/[&<>]/g, (letter) => `&#${letter.codePointAt(0)};`)
const columns = 74

const folder = mkdtempSync(join(tmpdir(), 'vtcode-pictures-'))
mkdirSync('docs/images', { recursive: true })
for (const name of ['answer', 'approval', 'streaming']) {
  const rows = readFileSync(`test/plugins/tui/golden/${name}.styled.txt`, 'utf8').replace(/^\n+|\n+$/g, '')
  let open = ''
  const body = rows.split(/(\{[\d;]*\})/).map((part, at) => {
    if (at % 2 === 0) return open === '' ? escaped(part) : `<span style="${open}">${escaped(part)}</span>`
    open = part
      .slice(1, -1)
      .split(';')
      .filter(Boolean)
      .map((number) => styles[number] ?? `color:${colors[number]}`)
      .join(';')
    return ''
  })
  const page = `<meta charset="utf-8"><body style="margin:0;background:#282c34;color:#dcdfe4;padding:12px 16px"><pre style="margin:0;font:14px/18px 'DejaVu Sans Mono',monospace">${body.join('')}</pre>`
  writeFileSync(join(folder, 'page.html'), page)
  const size = `${Math.ceil(columns * 8.43) + 32},${rows.split('\n').length * 18 + 24}`
  execFileSync(
    'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--hide-scrollbars',
      `--window-size=${size}`,
      `--screenshot=docs/images/${name}.webp`,
      join(folder, 'page.html'),
    ],
    { stdio: 'ignore' },
  )
}
rmSync(folder, { recursive: true })
