import { describe, expect, it } from 'vitest'
import { createTheme, loadHighlighter, renderBlock } from '../../../../build/plugins/tui/text/index.js'

const plain = createTheme('none')
const render = (text: string, columns: number): string[] => renderBlock({ kind: 'diff', text }, columns, plain)

describe('renderBlock of a diff', () => {
  const diff = '--- a/x.js\n+++ b/x.js\n@@ -9,3 +9,3 @@\n const a = 1\n-const b = 2\n+const b = 3\n const c = 4\n'

  it.each([20, 60, 80, 120])('numbers lines at %i columns and keeps each row within them', (columns) => {
    const rows = render(`${diff}+${'long '.repeat(40)}\n`, columns)
    expect(rows.slice(3, 7)).toEqual([' 9  const a = 1', '10 -const b = 2', '10 +const b = 3', '11  const c = 4'])
    expect(rows.filter((row) => row.length > columns)).toEqual([])
    expect(rows.slice(8).every((row) => row.startsWith('   +'))).toBe(true)
  })

  it('shows a diff without numbers unchanged', () => {
    expect(render('-a\n+b\n@@\n-c', 40)).toEqual(['-a', '+b', '@@', '-c'])
    expect(render('*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch', 40)).toHaveLength(5)
  })

  it('colors code in its language, and marks as added or removed', async () => {
    await loadHighlighter()
    const rows = renderBlock({ kind: 'diff', text: diff }, 60, createTheme('dark'))
    expect(rows[4]).toMatch(/^\u001b\[31m10 -\u001b\[39m\u001b\[35mconst\u001b\[39m/)
    expect(rows[5]).toMatch(/^\u001b\[32m10 \+\u001b\[39m\u001b\[35mconst\u001b\[39m/)
  })

  it('escapes control characters of the code', () => {
    expect(render('@@ -1,1 +1,1 @@\n+a\u001b[2Jb\n', 40)).toEqual(['@@ -1,1 +1,1 @@', '1 +a\\u{1b}[2Jb'])
  })
})
