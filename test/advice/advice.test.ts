import { readdirSync, readFileSync } from 'node:fs'
import type { SlotInfo } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { knownCodes } from '../support/codes.js'
import { vtcode } from '../support/program.js'
import { conversationSituations } from './conversation_situations.js'
import { authorCodes, modelCodes, userCodes } from './others.js'
import { pluginSituations } from './plugin_situations.js'
import { serverSituations } from './server_situations.js'
import { files, situations } from './situations.js'
import { webSituations } from './web_situations.js'

// Every code has advice, and the advice can be followed: `calls.test.ts` makes the calls; this file checks the rest.

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

let booted: Booted
beforeAll(async () => {
  booted = await bootKernel({ files, dialects: ['unified', 'classic', 'omp', 'thndrs'] })
})
afterAll(() => booted[Symbol.asyncDispose]())

/** The hints of the generated table, by code. */
const hints = read('docs/errors.md')
  .split('\n')
  .filter((line) => line.startsWith('| `VT_'))
  .map((line) => line.slice(2, -2).split(' | '))
  .map((cells) => ({ code: cells[0]!.replaceAll('`', ''), hint: cells.at(-2)!.trim() }))

describe('the list of all codes', () => {
  it('contains every code in one group: as a situation whose advice is followed, or by the reader of the advice', () => {
    const groups = [
      new Set(
        [situations, webSituations, conversationSituations, pluginSituations, serverSituations].flatMap((group) =>
          group.map(({ code }) => code),
        ),
      ),
      userCodes,
      authorCodes,
      modelCodes,
    ].map((codes) => [...codes])
    const [all, known] = [groups.flat(), knownCodes()]
    expect(known.filter((code) => !all.includes(code))).toEqual([])
    expect(all.filter((code) => !known.includes(code))).toEqual([])
    expect(all.filter((code, index) => all.indexOf(code) !== index)).toEqual([])
  })

  it('gives each code a hint that is filled by its situation or names an action', () => {
    const actions =
      /\{\w+\}|`vtcode |resumed|returns \{|has its text|named to|\b(?:add|allow|catch|answer|ask|call|change|check|choose|close|compare|continue|convert|copy|correct|create|decide|delete|do|explain|fetch|find|fix|give|install|join|keep|leave|list|load|look|make|merge|move|name|narrow|omit|open|outline|prefer|print|raise|read|reinstall|remove|rename|repair|rephrase|report|request|restore|run|save|see|send|set|show|split|start|try|update|use|wait|work|write)(?:s|ed)?\b/i
    const facts = hints.filter(
      ({ code, hint }) => !actions.test(hint) && hint !== '' && !situations.some((one) => one.code === code),
    )
    expect(facts).toEqual([])
  })
})

describe('the words of advice', () => {
  it('names commands of the command line that exist, with their words and flags', async () => {
    const commands = new Set(
      hints.flatMap(({ hint }) => [...hint.matchAll(/`vtcode ([^`]*)`/g)].map(([, words]) => words!)),
    )
    expect(commands.size).toBeGreaterThan(10)
    const missing: string[] = []
    for (const command of commands) {
      const [verb = '', ...words] = command.split(' ')
      const [own, sub] = [
        await vtcode(booted, [verb, '--help']),
        await vtcode(booted, [verb, words[0] ?? '', '--help']),
      ]
      if (own.code !== 0) missing.push(command)
      const help = own.stdout + (sub.code === 0 ? sub.stdout : '')
      // Placeholders and values stand for what the reader gives.
      const literal = words.filter(
        (word, index) => /^(--)?[a-z-]+$/.test(word) && !(words[index - 1] ?? '').startsWith('--'),
      )
      for (const word of literal) if (!help.includes(word)) missing.push(`${command}: ${word}`)
    }
    expect(missing).toEqual([])
  })

  it('names slots that exist and fields of the slot', () => {
    const manifests = readdirSync(new URL('manifests/', root), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => parse(read(`manifests/${file}`)) as Declared)
    const slots = new Map(manifests.filter(({ input }) => input).map((one) => [one.action ?? one.name ?? '', one]))
    const wrong = manifests.flatMap(({ action, name, errors = {} }) =>
      Object.entries(errors).flatMap(([code, { hint = '' }]) => [
        ...[...hint.matchAll(/\{(?:slot|tool):([\w/]+)\}/g)].flatMap(([, id]) =>
          slots.has(id!) ? [] : `${code}: ${id}`,
        ),
        ...[...hint.matchAll(/\{field:(\w+)\}/g)].flatMap(([, field]) =>
          Object.hasOwn(fieldsOf(slots.get(action ?? name ?? '')), field!) ? [] : `${action} ${code}: ${field}`,
        ),
      ]),
    )
    expect(wrong).toEqual([])
  })
})

/** The parts of a manifest that name slots and fields. */
interface Declared {
  action?: string
  name?: string
  input?: { properties?: Record<string, unknown> }
  errors?: Record<string, { hint?: string }>
}
const fieldsOf = (slot: Declared | undefined): Record<string, unknown> => slot?.input?.properties ?? {}

describe('the example of a call without a field', () => {
  it('contains the field and passes the check, for every required field of every slot', async () => {
    const wrong: string[] = []
    for (const slot of booted.kernel.list()) {
      const { tool, action, input } = slot
      for (const field of (input['required'] ?? []) as string[]) {
        const given = { ...createInput(slot), ...(action !== undefined && { action }) } as Record<string, unknown>
        delete given[field]
        const result = await booted.call(tool, given)
        if (result.ok || result.error.code !== 'VT_INPUT_MISSING') continue
        const { hint } = result.error
        if (!new RegExp(`\\b${field}\\b`).test(hint)) wrong.push(`${slot.slot} ${field}: ${hint}`)
        else if (hint.startsWith('Example: ')) {
          const [, name, json] = /^Example: (\w+) (\{.*\})$/.exec(hint) ?? []
          if (name === undefined) continue
          const again = await booted.kernel.explain(name, JSON.parse(json!) as object)
          if (again.verdict === 'refused') wrong.push(`${slot.slot} ${field}: ${hint}: ${again.reason}`)
        }
      }
    }
    expect(wrong).toEqual([])
  })
})

/** Returns an input with all required fields of a slot. */
function createInput({ input, example }: SlotInfo): Record<string, unknown> {
  if (typeof example === 'object') return { ...example }
  const properties = (input['properties'] ?? {}) as Record<string, { type?: string; enum?: unknown[] }>
  return Object.fromEntries(
    ((input['required'] ?? []) as string[]).map((name) => {
      const { type, enum: values } = properties[name] ?? {}
      return [name, values?.[0] ?? (type === 'integer' ? 1 : type === 'array' ? ['x'] : 'x')]
    }),
  )
}
