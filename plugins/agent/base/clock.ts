import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Random } from './components.js'

// The maximum delay of Node's timers; a longer one fires at once.
const MAX_TIMER_MS = 2 ** 31 - 1

/** The clock of the machine. */
export const clock: Clock = Object.freeze({
  now: () => Date.now(),
  sleep: (ms: number, signal: AbortSignal) => sleep(Math.min(ms, MAX_TIMER_MS), undefined, { signal }),
})
export const random: Random = Object.freeze({ next: () => Math.random() })

/** Returns random numbers that repeat in every run, by mulberry32 (public domain). */
export function createSeededRandom(seed = 0): Random {
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
  /** Starts again with the same delay. */
  restart(): void
  stop(): void
}
/** Calls `ring` after real time, independent of the clock of the agent: for networks and terminals. */
export function startAlarm(ms: number, ring: () => void): Alarm {
  const timer = setTimeout(ring, Math.min(ms, MAX_TIMER_MS))
  return { restart: () => void timer.refresh(), stop: () => clearTimeout(timer) }
}

/** Creates a version 4 UUID from these random numbers. */
export function createUuid({ next }: Random): string {
  const digits = Array.from({ length: 32 }, () => Math.floor(next() * 16).toString(16))
  digits[12] = '4'
  digits[16] = '89ab'[parseInt(digits[16]!, 16) % 4]!
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
