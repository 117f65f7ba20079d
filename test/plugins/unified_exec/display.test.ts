import type { Booted } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootExec, call, output, rounds } from '../../support/exec.js'
import { fc } from '../../support/property.js'

let booted: Booted
beforeAll(async () => {
  booted = await bootExec()
})
afterAll(() => booted[Symbol.asyncDispose]())

const NOTE = '[the screen of the terminal; the output moved its cursor]'
/** The text of a command in a terminal, without the line about its end. */
async function text(script: string, input: object = {}): Promise<string> {
  const answer = await call(booted, { command: ['bash', '-c', script], tty: true, ...input })
  if (!answer.ok) throw new Error(JSON.stringify(answer.error))
  return answer.text!.replace(/\nexit 0 in .*$/, '')
}

describe('unified_exec/run: output that moves the cursor', () => {
  it.each([
    [
      'rows that are rewritten',
      String.raw`echo start; for i in 1 2 3; do printf 'a %s\nb %s\n\033[2A' $i $i; done; printf '\033[2B'; echo end`,
      'start\na 3\nb 3\nend',
    ],
    [
      'a spinner',
      String.raw`for i in 1 2 3; do printf '\033[2K\033[1Gspin %s' $i; done; printf '\033[2K\033[1Gdone\n'`,
      'done',
    ],
    ['backspaces', String.raw`printf '12%%\b\b\b34%%\n'`, '34%'],
    ['a screen that is cleared', String.raw`echo old; printf '\033[2J\033[Hnew\n'`, 'new'],
    ['a second screen', String.raw`echo first; printf '\033[?1049h\033[Hmenu'`, 'menu'],
  ])('shows the last screen of %s', async (_, script, screen) => {
    expect(await text(script)).toBe(`${screen}\n${NOTE}`)
  })

  it('keeps the lines that left the screen, and all of the output in the value', async () => {
    const script = String.raw`seq 1 100; printf 'working\033[7Gfinished\n'`
    const shown = await text(script)
    expect(shown.split('\n')).toEqual([...Array.from({ length: 100 }, (_, at) => `${at + 1}`), 'workinfinished', NOTE])
    expect((await output(booted, { command: ['bash', '-c', script], tty: true })).output).toContain('working\x1b[7G')
  })

  it('joins a line that is wider than the terminal', async () => {
    const line = 'word '.repeat(60).trimEnd()
    expect(await text(String.raw`printf '\033[1G'; echo "${line}"`, { cols: 40 })).toBe(`${line}\n${NOTE}`)
  })

  it('shows what was added to the screen at each call of a running program', async () => {
    const session_id = 'steps'
    const script = String.raw`printf 'step 1\033[1G'; read a; printf 'step 2\033[1G'; read a; printf '\033[2Kall\n'`
    const asks = await call(booted, { command: ['bash', '-c', script], tty: true, session_id, yield_time_ms: 0 })
    expect(asks).toMatchObject({ text: expect.stringMatching(/^step 1\n\[the screen/) })
    const next = await call(booted, { action: 'write', session_id, input: '\n', yield_time_ms: 30_000 })
    expect(next).toMatchObject({ text: expect.stringContaining('step 2') })
    await output(booted, { action: 'close', session_id })
  })

  it('shows all text of a program on pipes, where cursor movements could hide some', async () => {
    expect(await text(String.raw`printf 'hidden\033[2J\033[1Gshown\n'`, { tty: false })).toBe('hiddenshown')
  })

  it('cuts a screen that is longer than the requested output and says so', async () => {
    const shown = await text(String.raw`seq 1 2000; printf '\033[1Gend\n'`, { max_output_tokens: 50 })
    expect(shown).toMatch(/^\[… \d+ bytes of the screen omitted …\]\n/)
    expect(shown).toMatch(/2000\nend\n\[the screen/)
  })

  it('shows the same rows as a terminal after any rewrites', async () => {
    const rewrite = fc.record({ row: fc.nat({ max: 9 }), word: fc.stringMatching(/^[a-z]{1,8}$/) })
    await fc.assert(
      fc.asyncProperty(fc.array(rewrite, { minLength: 1, maxLength: 12 }), async (rewrites) => {
        const rows = Array.from({ length: 10 }, (_, row) => `row ${row}`)
        let script = `printf '${rows.join(String.raw`\n`)}\\n'; printf '\\033[10A'`
        let at = 0
        for (const { row, word } of rewrites) {
          const move = row < at ? `\\033[${at - row}A` : row > at ? `\\033[${row - at}B` : ''
          script += `; printf '${move}\\r\\033[2K${word}'`
          rows[row] = word
          at = row
        }
        expect(await text(`${script}; printf '\\033[${10 - at}B\\r'`)).toBe(`${rows.join('\n')}\n${NOTE}`)
      }),
      { numRuns: rounds(12, 300) },
    )
  })
})
