import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Random } from './components.js'

// What Node's timers can wait at most; beyond it they ring at once.
const longest = 2 ** 31 - 1

/** The machine's own time. */
export const clock: Clock = Object.freeze({
  now: () => Date.now(),
  sleep: (ms: number, signal: AbortSignal) => sleep(Math.min(ms, longest), undefined, { signal }),
})
export const random: Random = Object.freeze({ next: () => Math.random() })

/** Repeatable random numbers: the same in every run, by mulberry32 (public domain). */
export function seeded(seed = 0): Random {
  let state = seed
  return Object.freeze({
    next: () => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  })
}

/** A timer that can be restarted. */
export interface Alarm {
  /** Starts again, for the same time. */
  again(): void
  stop(): void
}
/** Calls `ring` after real time, whatever clock the agent runs on: for networks and terminals. */
export function alarm(ms: number, ring: () => void): Alarm {
  const timer = setTimeout(ring, Math.min(ms, longest))
  return { again: () => void timer.refresh(), stop: () => clearTimeout(timer) }
}

/** A version 4 UUID from these random numbers. */
export function uuidOf({ next }: Random): string {
  const digits = Array.from({ length: 32 }, () => Math.floor(next() * 16).toString(16))
  digits[12] = '4'
  digits[16] = '89ab'[parseInt(digits[16]!, 16) % 4]!
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
