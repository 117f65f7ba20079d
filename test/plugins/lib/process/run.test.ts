import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  createJsonLineReader,
  createLineReader,
  runProgram,
  createTail,
} from '../../../../build/plugins/lib/process/index.js'
import { fc } from '../../../support/property.js'

const limits = () => ({ signal: new AbortController().signal, seconds: 30 })
/** Generates a text and its chunks, also cut within a character. */
const chunked = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.array(fc.nat({ max: 40 }), { maxLength: 20 })).map(([whole, sizes]) => {
    const bytes = Buffer.from(whole)
    const chunks: Buffer[] = []
    let at = 0
    for (const size of [...sizes, bytes.length]) chunks.push(bytes.subarray(at, (at += size)))
    return { whole, chunks: chunks.filter(({ length }) => length > 0) }
  })

describe('runProgram with a slow reader', () => {
  // Each line is a separate write, so that some lines are still in the pipe after the program ended.
  const script = 'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo error >&2'
  const wanted = Array.from({ length: 3000 }, (_, n) => `line ${n}\n`).join('')

  it('reads a program to its end, in order, however slow the reader is', async () => {
    for (let run = 0; run < 20; run++) {
      let read = ''
      let busy = false
      const ended = await runProgram({ file: '/bin/sh', args: ['-c', script], cwd: '/' }, limits(), async (chunk) => {
        expect(busy).toBe(false)
        busy = true
        // The reader delays the first chunks until the program has ended, and later ones for a moment.
        await (read.length < 100 ? sleep(20) : immediate())
        read += chunk.toString()
        busy = false
      })
      expect(ended).toEqual({ exit_code: 0, timed_out: false, stopped: false, overLimit: false })
      expect(read === wanted ? wanted : read.slice(0, 2000)).toBe(wanted)
    }
  })
  it('ends the program when the reader has enough and passes nothing more on', async () => {
    let chunks = 0
    const ended = await runProgram(
      { file: '/bin/sh', args: ['-c', 'while :; do echo more; done'], cwd: '/' },
      limits(),
      async () => {
        chunks += 1
        await sleep(5)
        return chunks < 3 ? undefined : false
      },
    )
    expect([ended?.stopped, ended?.exit_code, chunks]).toEqual([true, undefined, 3])
  })
  it('fails with the error of its reader, at once or later', async () => {
    const fail = (consumer: () => void | Promise<void>) =>
      runProgram({ file: '/bin/sh', args: ['-c', script], cwd: '/' }, limits(), consumer)
    await expect(
      fail(() => {
        throw new Error('full')
      }),
    ).rejects.toThrow('full')
    await expect(
      fail(async () => {
        await sleep(5)
        throw new Error('full')
      }),
    ).rejects.toThrow('full')
  })
})

describe('line consumers', () => {
  it('returns the same lines for any chunks', () => {
    fc.assert(
      fc.property(
        chunked(
          fc.array(fc.constantFrom('a', 'é', '😀', '\n', '\r', ''), { maxLength: 60 }).map((parts) => parts.join('')),
        ),
        ({ whole, chunks }) => {
          const found: string[] = []
          const reader = createLineReader((line) => void found.push(line.toString()))
          for (const chunk of chunks) reader.take(chunk)
          reader.end()
          const expected = whole.split('\n')
          if (expected.at(-1) === '') expected.pop()
          expect(found).toEqual(expected)
        },
      ),
    )
  })
  it('keeps the head and the end of a line that is too long, and the next line whole', () => {
    const found: Buffer[] = []
    const reader = createLineReader((line) => void found.push(line), 4_194_304)
    for (let n = 0; n < 90; n++) reader.take(Buffer.alloc(65_536, n === 0 ? 'h' : 'x'))
    reader.take(Buffer.from('end\nnext\n'))
    expect(found.map(({ length }) => length < 4_194_304 + 65_536)).toEqual([true, true])
    expect([
      found[0]!.toString('latin1', 0, 64),
      found[0]!.toString('latin1', found[0]!.length - 4),
      found[1]!.toString(),
    ]).toEqual(['h'.repeat(64), 'xend', 'next'])
  })
  it('keeps the last bytes for any chunks', () => {
    fc.assert(
      fc.property(
        chunked(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 100 })),
        fc.integer({ min: 1, max: 30 }),
        ({ whole, chunks }, limit) => {
          const end = createTail(limit)
          for (const chunk of chunks) void end.take(chunk)
          expect(end.text()).toBe(whole.slice(-limit))
        },
      ),
    )
  })
})

describe('JSON lines', () => {
  const read = (limit: number, chunks: Buffer[]) => {
    const told: unknown[] = []
    const take = createJsonLineReader(limit, {
      value: (value) => told.push({ value }),
      other: (line) => told.push({ other: line }),
      tooLong: () => told.push('too long'),
    })
    for (const chunk of chunks) take(chunk)
    return told
  }
  const document = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.constantFrom('', 'no json', '{"a":'),
  )

  it('parses the same documents for any chunks', () => {
    fc.assert(
      fc.property(
        chunked(fc.array(document, { maxLength: 8 }).map((all) => all.map((line) => `${line}\n`).join(''))),
        ({ whole, chunks }) => {
          const expected = whole
            .split('\n')
            .filter((line) => line.trim() !== '')
            .map((line) => {
              try {
                return { value: JSON.parse(line) as unknown }
              } catch {
                return { other: line.trim() }
              }
            })
          expect(read(100_000, chunks)).toEqual(expected)
        },
      ),
    )
  })
  it('stops at the first line over the limit and reports that once', () => {
    fc.assert(
      fc.property(
        chunked(
          fc
            .tuple(fc.integer({ min: 1, max: 19 }), fc.integer({ min: 21, max: 60 }))
            .map(([short, long]) => `${'1'.repeat(short)}\n${'2'.repeat(long)}\n3\n${'4'.repeat(long)}\n`),
        ),
        ({ whole, chunks }) => {
          expect(read(20, chunks)).toEqual([{ value: Number(whole.split('\n')[0]) }, 'too long'])
        },
      ),
    )
    expect(read(20, [Buffer.from(`${'1'.repeat(20)}\n`)])).toHaveLength(1)
  })
})
