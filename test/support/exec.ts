import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Result } from 'vtcode'
import { bootKernel, type Boot, type Booted } from 'vtcode/test'

/** The number, or the rows, of a long round where one is asked for, else of a short one. */
export const rounds = <T = number>(short: T, long: T): T => (process.env.VTCODE_SOAK ? long : short)

/** A kernel whose commands run without a sandbox, which has tests of its own. */
export const bootExec = ({ config, ...how }: Boot = {}): Promise<Booted> =>
  bootKernel({ ...how, config: { sandbox: { mode: 'off' }, ...config } })

export const call = (booted: Booted, input: object): Promise<Result> => booted.call('unified_exec', input)

/** The output of a call that must succeed. */
export async function output(booted: Booted, input: object): Promise<any> {
  const result = await call(booted, input)
  if (!result.ok) throw new Error(JSON.stringify(result.error).slice(0, 500))
  return result.output
}

/** Reads on from an answer of a session, until the program has ended or all of the text holds `sign`; `text` is what came in all. */
export async function readOn(booted: Booted, answer: any, sign?: string): Promise<any> {
  const { session_id } = answer
  let text: string = answer.stdout ?? answer.output
  while (answer.running && (sign === undefined || !text.includes(sign))) {
    answer = await output(booted, { action: 'poll', session_id, yield_time_ms: 30_000 })
    text += answer.stdout ?? answer.output
  }
  return { ...answer, text }
}

/** The error of a call that must fail. */
export async function error(booted: Booted, input: object): Promise<any> {
  const result = await call(booted, input)
  if (result.ok) throw new Error(JSON.stringify(result.output).slice(0, 500))
  return result.error
}

/** Processes, other than the dead, whose command line has this text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
      try {
        return (
          readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(text) &&
          !/\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'latin1'))
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Processes, other than this one, that work in this folder or below it. */
export function processesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
      try {
        return `${readlinkSync(`/proc/${name}/cwd`)}/`.startsWith(`${folder}/`)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Returns a unique `sleep` command, which a test can find afterwards. */
export const nap = (): string => `sleep 6${String(Math.random()).slice(2, 12)}`

/** Waits until `check` holds, at most `ms`. */
export async function eventually(check: () => boolean | Promise<boolean>, ms = 60_000): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await new Promise((resolve) => setTimeout(resolve, 20)))
    if (await check()) return true
  return check()
}

/** Returns true if this machine has a program; in CI a missing one fails the test that needs it instead of skipping it. */
export function lacks(...programs: string[]): boolean {
  if (process.env['CI']) return false
  const missing = programs.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  // The end of the run names them (support/run.ts).
  for (const name of missing) writeFileSync(join(inject('run'), 'missing', name), '')
  return missing.length > 0
}
