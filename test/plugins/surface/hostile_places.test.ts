import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'

const script = fileURLToPath(new URL('../../fixtures/hostile/places.mjs', import.meta.url))

/** Returns the answer at each place; a place without an answer hung the program. */
function visit(
  form: string,
  half: string[],
): Promise<{ answers: Record<string, string | undefined>; resident_mb: number }> {
  const child = spawn(process.execPath, [script, form, ...half], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 100_000,
    killSignal: 'SIGKILL',
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  return new Promise((resolve) =>
    child.on('close', () => {
      const lines = said
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { place?: string; answer?: string; resident_mb?: number })
      const answers = Object.fromEntries(
        lines.flatMap(({ place, answer }) => (place === undefined ? [] : [[place, answer]])),
      )
      resolve({ answers, resident_mb: lines.at(-1)?.resident_mb ?? Infinity })
    }),
  )
}

describe('files that the program searches for', () => {
  // Each place has two of the forms, the long run has all: one way to read serves them all.
  it.each([
    ['pipe', 'even'],
    ['device', 'odd'],
    ['folder', 'even'],
    ['huge', 'odd'],
  ])('passes a %s in the place of a searched file without a hang or extra memory', async (form, half) => {
    const { answers, resident_mb } = await visit(form, rounds(0, 1) ? [] : [half])
    expect(Object.keys(answers).length).toBeGreaterThan(rounds(35, 70))
    // Readable but wrong settings stop the program; everything else is skipped.
    for (const [place, answer] of Object.entries(answers))
      expect(answer, place).toMatch(
        /config|tool-policy|^\.vtcode$/.test(place) ? /^(?:ok|VT_(?:CONFIG|MANIFEST)_[A-Z]+)$/ : /^ok$/,
      )
    expect(resident_mb).toBeLessThan(300)
  })
})
