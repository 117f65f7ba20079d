import { afterEach, beforeEach } from 'vitest'
import type { Booted } from 'vtcode/test'
import { bootExec, output } from './exec.js'

/** A kernel for each test of a file, and the session `s` that most of them drive: `run` starts it and answers after a moment. */
export interface Driven {
  readonly booted: Booted
  run(input: object): Promise<any>
  /** An action on `s`. */
  on(action: string): (input?: object) => Promise<any>
}

export function drivesSession(): Driven {
  let booted: Booted
  beforeEach(async () => {
    booted = await bootExec()
  })
  afterEach(() => booted[Symbol.asyncDispose]())
  return {
    get booted() {
      return booted
    },
    run: (input) => output(booted, { action: 'run', session_id: 's', yield_time_ms: 250, ...input }),
    on:
      (action) =>
      (input = {}) =>
        output(booted, { action, session_id: 's', ...input }),
  }
}
