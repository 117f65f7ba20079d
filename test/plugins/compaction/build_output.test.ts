import { describe, expect, it } from 'vitest'
import { bootExec } from '../../support/exec.js'

/** Returns what a model reads of a build that prints these lines and fails. */
async function built(lines: string[], stderr: string[] = []): Promise<string> {
  await using booted = await bootExec({
    files: { out: `${lines.join('\n')}\n`, err: stderr.map((line) => `${line}\n`).join('') },
  })
  const result = await booted.call('unified_exec', { action: 'run', command: 'cat out; cat err >&2; exit 2' })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.text!
}
const noise = (from: number, to: number): string[] =>
  Array.from(
    { length: to - from },
    (_, index) => `compiling module ${from + index} of many, 0 errors, all is well with error_handler.c`,
  )

describe('compaction of a long build output', () => {
  const errors = [
    'src/x.ts(14,3): error TS2322: Type string is not assignable to type number.',
    'error[E0382]: borrow of moved value: `x`',
    'FAILED tests/test_a.py::test_b - assert 1 == 2',
    'FAIL test/a.test.ts > adds',
    "thread 'main' panicked at src/main.rs:4:5",
    'Traceback (most recent call last):',
    'TypeError: x is not a function',
    'fatal: not a git repository',
    "main.c:(.text+0x5): undefined reference to `f'",
    'Segmentation fault (core dumped)',
    'not ok 14 - sums',
    '  ✗ sums',
    'make: *** [Makefile:3: all] Error 2',
    'npm ERR! code ELIFECYCLE, exited with code 1',
    '[ERROR] BUILD FAILURE',
  ]
  it.each(errors)(
    'shows the one error inside 5,000 lines with its context, its line number and both ends: %s',
    async (error) => {
      const text = await built([
        ...noise(0, 2_500),
        'in the function before it',
        error,
        'what explains it',
        'and where',
        ...noise(2_500, 5_000),
      ])
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8_192)
      expect(Buffer.byteLength(text)).toBeGreaterThan(7_000)
      expect(text).toContain(
        `2501: in the function before it\n2502: ${error}\n2503: what explains it\n2504: and where\n`,
      )
      expect(text).toContain('compiling module 0 of many')
      expect(text).toContain('compiling module 4999 of many')
      expect(text).toMatch(/exit 2 in [\d.]+ s$/)
      expect(text.match(/of many/g)!.length).toBeGreaterThan(60)
    },
  )

  it('shows the first of very many errors within the size limit', async () => {
    const text = await built([
      ...noise(0, 500),
      ...Array.from({ length: 3_000 }, (_, index) => `a.c:${index}: error: number ${index} of too many`),
      ...noise(500, 1_000),
    ])
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8_192)
    expect(text).toContain('501: a.c:0: error: number 0 of too many\n')
    expect(text).toContain('compiling module 999 of many')
  })

  it('finds errors in stderr with a long stdout, errors in long lines, and none in a clean build', async () => {
    const both = await built(noise(0, 2_000), [...noise(0, 2_000), 'ld: fatal: no such file', ...noise(0, 2_000)])
    expect(both).toContain('2001: ld: fatal: no such file')
    const long = await built([...noise(0, 500), `error: ${'x'.repeat(100_000)}`, ...noise(0, 500)])
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(8_192)
    expect(long).toContain('501: error: xxxx')
    const hostile = await built([...noise(0, 500), 'error: \u001b[31mred\u202e', ...noise(0, 500)])
    expect(hostile).toContain('501: error: ')
    expect(hostile).not.toMatch(/[\u001b\u202e]/)
    expect(await built(noise(0, 5_000))).not.toContain('look like errors')
  })
})
