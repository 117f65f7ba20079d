import { describe, expect, it } from 'vitest'
import { isAfter, LineFilter, LineWriter, type LineBody } from '../../../../build/plugins/lib/jobs/index.js'

const secret = 'a secret of at least 16 characters'
const job_sig = '0'.repeat(64)
/** Starts a log, and writers of its leases. */
function newLog() {
  const lines: string[] = []
  const writer = (number: number, more: { secret?: string; job_sig?: string } = {}) =>
    new LineWriter(more.secret ?? secret, more.job_sig ?? job_sig, {
      number,
      log: async (line) => void lines.push(line),
    })
  const read = (): string[] => {
    const filter = new LineFilter(secret, job_sig)
    return lines.flatMap((text) => {
      const line = filter.take(text)
      return line ? [`${line.lease}.${line.seq} ${line.kind === 'event' ? line.event['n'] : line.kind}`] : []
    })
  }
  return { lines, writer, read }
}
const begin: LineBody = { kind: 'begin', worker: 'one' }
const event = (n: number): LineBody => ({ kind: 'event', event: { n } })

describe('LineFilter', () => {
  it('drops every line of an older lease after the first line of a newer one', async () => {
    const { writer, read } = newLog()
    const [first, second] = [writer(1), writer(2)]
    await first.write(begin)
    await first.write(event(1))
    await second.write(begin)
    await first.write(event(2))
    await second.write(event(3))
    await first.write({ kind: 'saved', saved: { session: 'f'.repeat(64) } })
    await first.write(event(4))
    expect(read()).toEqual(['1.1 begin', '1.2 1', '2.1 begin', '2.2 3'])
  })
  it('takes the lines of the older lease up to the first line of the newer one, for every reader alike', async () => {
    const { writer, read } = newLog()
    const [first, second] = [writer(1), writer(2)]
    await first.write(begin)
    for (const n of [1, 2, 3]) await first.write(event(n))
    await second.write(begin)
    await second.write(event(4))
    expect(read()).toEqual(['1.1 begin', '1.2 1', '1.3 2', '1.4 3', '2.1 begin', '2.2 4'])
  })
  it('drops unsigned, changed, repeated and foreign lines, and a lease without its first line', async () => {
    const { lines, writer, read } = newLog()
    const own = writer(1)
    await own.write(begin)
    await own.write(event(1))
    lines.push(lines[1]!, 'no JSON', '{}', '[]', lines[1]!.replace('"seq":2', '"seq":3'))
    await writer(2, { secret: 'another secret of 16 characters' }).write(begin)
    await writer(2, { job_sig: `t-${'1'.repeat(32)}` }).write(begin)
    await writer(3).write(event(9))
    await own.write(event(2))
    expect(read()).toEqual(['1.1 begin', '1.2 1', '1.3 2'])
  })
  it('reads on after lines at the beginning of the log were removed', async () => {
    const { lines, writer } = newLog()
    const own = writer(1)
    const filter = new LineFilter(secret, job_sig)
    await own.write(begin)
    await own.write(event(1))
    lines.forEach((line) => filter.take(line))
    await own.write(event(2))
    const kept = lines.slice(1)
    expect(kept.flatMap((line) => filter.take(line)?.seq ?? [])).toEqual([3])
    expect(filter.last).toEqual({ lease: 1, seq: 3 })
  })
  it('orders positions by lease, then by number', () => {
    expect(isAfter({ lease: 2, seq: 1 }, { lease: 1, seq: 9 })).toBe(true)
    expect(isAfter({ lease: 1, seq: 9 }, { lease: 2, seq: 1 })).toBe(false)
    expect(isAfter({ lease: 1, seq: 2 }, { lease: 1, seq: 2 })).toBe(false)
  })
})

describe('LineWriter', () => {
  it('replaces an event that is too long for a log by its type', async () => {
    const { lines, writer } = newLog()
    await writer(1).write({ kind: 'event', event: { type: 'item.completed', text: 'x'.repeat(300_000) } })
    expect(JSON.parse(lines[0]!)).toMatchObject({ event: { type: 'omitted', of: 'item.completed' }, seq: 1, lease: 1 })
  })
})
