import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createKernel, type CallOptions, type Result } from 'vtcode'
import { bootKernel, tempWorkspace, type Boot, type Booted, type Files } from 'vtcode/test'
import { holdForFile } from './held.js'

/** Asks the program for what a sentence says; throws where it does something else. */
export type Check = (place: Booted) => unknown
/** A line of a seed, a sentence of it, what asks the program for it; where it does something else on purpose, the topic of that row of docs/departures.md. */
export type Row = readonly [line: string, sentence: string, check: Check, departure?: string]

/** Runs the checks on a workspace of their own, which is made when the first check needs it; its base `ends` with it. */
export function apart(boot: Boot | (() => Promise<Boot & { ends?: AsyncDisposable }>)): (check: Check) => Check {
  let made: Promise<Booted> | undefined
  const make = async (): Promise<Booted> => {
    const { ends, ...how }: Boot & { ends?: AsyncDisposable } = typeof boot === 'function' ? await boot() : boot
    if (ends) holdForFile(ends)
    return holdForFile(await bootKernel(how))
  }
  return (check) => async () => check(await (made ??= make()))
}

/** One test for each sentence, on a workspace that they share. */
export function follow(seed: string, rows: readonly Row[], boot: Boot = {}): void {
  const shared = apart(boot)
  const nowhere = {} as Booted
  describe(`seed ${seed}`, () => {
    for (const [line, sentence, check, departure] of rows)
      it(`answers seed line ${line}: ${sentence}${departure === undefined ? '' : `, a departure: ${departure}`}`, () =>
        shared(check)(nowhere) as Promise<void>)
  })
}

/** A workspace that is a folder inside of a larger one. */
export async function outer(files: Files, inner: string): Promise<Booted> {
  const place = await tempWorkspace(files)
  const kernel = await createKernel({
    workspace: join(place.root, inner),
    home: place.home,
    env: { PATH: process.env['PATH'], HOME: place.home },
    mode: 'full-auto',
  })
  holdForFile(place)
  holdForFile({ [Symbol.asyncDispose]: () => kernel.close() })
  return { ...place, kernel, call: kernel.call }
}

/** A value for `toMatchObject`, in which a regular expression matches texts. */
export function like(expected: unknown): any {
  if (expected instanceof RegExp) return expect.stringMatching(expected)
  if (Array.isArray(expected)) return expected.map(like)
  if (expected !== null && typeof expected === 'object' && Object.getPrototypeOf(expected) === Object.prototype)
    return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, like(value)]))
  return expected
}
/** A list that holds these, among others. */
export const among = (...items: unknown[]): any =>
  expect.arrayContaining(
    items.map((item) =>
      item !== null && typeof item === 'object' && !('asymmetricMatch' in item)
        ? expect.objectContaining(like(item))
        : like(item),
    ),
  )

/** The call succeeds, and its output has this. */
export const gives =
  (tool: string, input: object, output: object = {}, beside: object = {}): Check =>
  async ({ call }) => {
    expect(await call(tool, input)).toMatchObject(like({ ok: true, output, ...beside }))
  }
/** The call succeeds, and its text is found by each. */
export const says =
  (tool: string, input: object, ...texts: (RegExp | string)[]): Check =>
  async ({ call }) => {
    const result = await call(tool, input)
    expect(result).toMatchObject({ ok: true })
    for (const text of texts) expect(result.ok ? result.text : undefined).toEqual(like(text))
  }
/** The call is refused, and its error has this. */
export const refuses =
  (tool: string, input: object, error: object): Check =>
  async ({ call }) => {
    expect(await call(tool, input)).toMatchObject(like({ ok: false, error }))
  }
/** All hold, one after the other. */
export const each =
  (...checks: Check[]): Check =>
  async (place) => {
    for (const check of checks) await check(place)
  }
/** A file has this text. */
export const holds =
  (path: string, text: string | RegExp | undefined): Check =>
  async ({ read }) =>
    expect(await read(path)).toEqual(like(text))

/** The output of a call that succeeds. */
export async function outputOf({ call }: Booted, tool: string, input: object, options?: CallOptions): Promise<any> {
  const result = await call(tool, input, options)
  if (!result.ok) throw new Error(JSON.stringify(result.error).slice(0, 600))
  return result.output
}
/** The error of a call that fails. */
export async function errorOf(
  { call }: Booted,
  tool: string,
  input: object,
  options?: CallOptions,
): Promise<Extract<Result, { ok: false }>['error']> {
  const result = await call(tool, input, options)
  if (result.ok) throw new Error(JSON.stringify(result.output).slice(0, 600))
  return result.error
}

/** A tool as a model sees it. */
export function listed({ kernel }: Booted, tool: string): { name: string; description: string; input: any } {
  const found = kernel.tools().find(({ name }) => name === tool)
  if (!found) throw new Error(`${tool} is not listed`)
  return found as never
}
/** A model sees this in the description of a tool. */
export const describes =
  (tool: string, ...texts: RegExp[]): Check =>
  (place) => {
    for (const text of texts) expect(JSON.stringify(listed(place, tool))).toMatch(text)
  }
/** A model sees these fields of a tool. */
export const takes =
  (tool: string, fields: Record<string, object>): Check =>
  (place) =>
    expect(listed(place, tool).input.properties).toMatchObject(like(fields))
