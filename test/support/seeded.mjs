// Loaded before a program (`node --import`): its clock moves on once a minute and its random numbers are counted, so that two short runs
// say the same. Timers are as ever, and what waits for a time of the clock still comes to an end.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const minutes = () => Math.floor(process.uptime() / 60) * 60_000
const now = () => Date.UTC(2026, 0, 2, 3, 4, 5) + minutes()
let drawn = 0

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

/** Each draw is another one, and the same ones come in every run. */
const bytesOf = (size) => crypto.createHash('shake256', { outputLength: Math.max(1, size) }).update(String(drawn++)).digest().subarray(0, size)
Math.random = () => bytesOf(6).readUIntBE(0, 6) / 2 ** 48
crypto.randomBytes = (size) => bytesOf(size)
crypto.randomUUID = () => bytesOf(16).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
syncBuiltinESMExports()
