// Loaded before a program (`node --import`): its clock moves on once a minute and its random numbers are counted, so that two short runs
// say the same. Timers are as ever, and what waits for a time of the clock still comes to an end.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const minutes = () => Math.floor(process.uptime() / 60) * 60_000
const now = () => Date.UTC(2026, 0, 2, 3, 4, 5) + minutes()
const drawn = new Map()

class Standing extends Date {
  constructor(...given) {
    super(...(given.length > 0 ? given : [now()]))
  }
  static now() {
    return now()
  }
}
globalThis.Date = Standing
performance.now = () => 1000 + minutes()

/** Each draw is another one, and the same ones come in every run: each kind and size is counted by itself, for what runs side by side draws in any order. */
function bytesOf(kind, size) {
  const count = drawn.get(kind + size) ?? 0
  drawn.set(kind + size, count + 1)
  return crypto
    .createHash('shake256', { outputLength: Math.max(1, size) })
    .update(`${kind} ${count}`)
    .digest()
    .subarray(0, size)
}
Math.random = () => bytesOf('number', 6).readUIntBE(0, 6) / 2 ** 48
crypto.randomBytes = (size) => bytesOf('bytes', size)
crypto.randomUUID = () =>
  bytesOf('uuid', 16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
syncBuiltinESMExports()
