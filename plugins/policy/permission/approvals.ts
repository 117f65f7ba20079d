import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, sha256, writeState } from '../../../core/system/index.js'
import { shortLine } from '../../../core/text/index.js'
import type { Context, JsonObject, Lasting } from '../../../core/index.js'
import { canonicalJson } from '../../../core/trust/index.js'
import { startedCommands } from '../../lib/process/index.js'
import { readWorkdir, listEffectiveInput, type CallFacts } from '../../lib/rules/index.js'
import { ownFolder } from '../../lib/state/index.js'

/** What a yes may be remembered for: `covers` says it to a person, `key` is the same for a machine. */
interface Scope {
  covers: string
  key: string
}

const folder = '.vtcode/approvals'

/** What answers of a person cover, for the session in memory and for always in a file that nobody else can write validly. */
export function approvalsFor(
  facts: CallFacts,
  context: Context,
): { has(): Promise<boolean>; lasting: Lasting | undefined } {
  const scope = scopeOf(facts, context)
  const known = context.session.state('approvals', () => new Set<string>())
  return {
    has: async () => scope !== undefined && (known.has(scope.key) || (await stored(scope, context))),
    lasting: scope && {
      covers: scope.covers,
      async keep(term) {
        if (term === 'once') return
        known.add(scope.key)
        if (term === 'always') await store(scope, context)
      },
    },
  }
}

function scopeOf(facts: CallFacts, context: Context): Scope | undefined {
  const { call } = facts
  const { slot, given } = call
  const at = readWorkdir(facts)
  // A link that is turned after the answer leads to what nobody was asked about.
  const led = call.places.flatMap(({ given: name, resolved }) =>
    name === resolved ? [] : `'${name}' leads to '${resolved}'`,
  )
  const scope = (covers: string, ...parts: unknown[]): Scope => ({
    covers: [covers, ...led].join(', '),
    key: canonicalJson([slot, ...parts, ...led]),
  })
  if (facts.hasCommand) {
    const argv = argvOf(facts)
    if (!argv) return undefined
    // The command and its folder are named first; all else that has a part in what runs is shown and counts.
    const around = listEffectiveInput(call, context.slot).filter(
      ([name]) => !['command', 'args', 'workdir', 'cwd'].includes(name),
    )
    const extra = around.map(([name, value]) => `${name} ${shortened(value)}`).join(', ')
    return scope(`\`${argv.shown}\` in '${at}'${extra && ` with ${extra}`}`, argv.words, at, around)
  }
  const { program } = context.slot
  if (program !== undefined) {
    const shape = Object.entries(given)
      .map(([name, value]) => [name, free(context, name) ? '…' : value] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const words = shape
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(' ')
    return scope(
      `${slot} (${program}) with ${words || 'no input'}${words.includes('…') ? ', … being any text' : ''}`,
      shape,
      at,
    )
  }
  const host = facts.host()
  if (host !== undefined && call.effects.every((effect) => effect === 'net')) return scope(`${slot} of ${host}`, host)
  const sent = receiver(facts, context)
  return scope(
    `exactly this call of ${slot}${sent ? `, to ${sent.shown}` : ''}`,
    listEffectiveInput(call, context.slot),
    ...(sent ? [sent.mark] : []),
  )
}

/** The command that the input of a call is for. Its id may be used again for another one: an answer is about this start of it. */
export function receiver({ call, slot }: CallFacts, context: Context): { shown: string; mark: string } | undefined {
  const id = call.input.session_id
  const found = slot.continues && typeof id === 'string' ? startedCommands(context).get(id) : undefined
  return (
    found && { shown: `\`${shortLine([found.command].flat().join(' '), 200)}\` in '${found.cwd}'`, mark: found.mark }
  )
}

/** A long text by both ends, its length and its digest, so that it is no other text. */
function shortened(value: unknown): string {
  const text = canonicalJson(value)
  return text.length <= 400
    ? text
    : `${text.slice(0, 160)} … (${text.length} characters, sha256 ${sha256(text).slice(0, 16)}) … ${text.slice(-160)}`
}

/** One program with static words is its argv, however it was quoted; any other line counts as it is written. What is only known when it runs has no shape. */
function argvOf(facts: CallFacts): { shown: string; words: unknown } | undefined {
  const commands = facts.commands()
  const lines = facts.lines()
  if (
    lines.some(
      (line) => line.dynamic !== undefined || line.commands.some((argv) => argv.some(({ kind }) => kind !== 'static')),
    )
  )
    return undefined
  const [line] = lines
  const single =
    lines.length === 1 &&
    line!.isSimple &&
    line!.commands.length === 1 &&
    line!.writes.length + line!.inputs.length + line!.assigned.length === 0
  const words = single ? line!.commands[0]!.map(({ text }) => text) : commands
  return {
    shown: single ? (words as string[]).join(' ') : commands.map((command) => [command].flat().join(' ')).join('; '),
    words,
  }
}

/** A property of free text may vary within a shape; a choice, a number or a switch is part of it. */
function free({ slot }: Context, name: string): boolean {
  const schema = ((slot.input.properties ?? {}) as Record<string, JsonObject>)[name]
  return schema?.type === 'string' && schema.enum === undefined
}

const nameOf = ({ key }: Scope): string => `${sha256(key).slice(0, 16)}.json`

// A workspace can come with files of anybody: a stored answer counts only with a seal that this user's own key made for this place.
const sealOf = (secret: Buffer, scope: Scope, root: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify([root, scope.key, scope.covers]))
    .digest('hex')
const keyFile = ({ host }: Context): string => join(host.home, 'approvals.key')

async function stored(scope: Scope, context: Context): Promise<boolean> {
  try {
    const { seal } = JSON.parse(
      await context.workspace.readText(`${folder}/${nameOf(scope)}`, { max_bytes: 65_536 }),
    ) as {
      seal?: unknown
    }
    const expected = Buffer.from(sealOf(await readFile(keyFile(context)), scope, context.workspace.root))
    const presented = Buffer.from(String(seal))
    return presented.length === expected.length && timingSafeEqual(presented, expected)
  } catch {
    return false
  }
}

/** A folder that cannot be written to loses the memory beyond the session, and nothing else. */
async function store(scope: Scope, context: Context): Promise<void> {
  try {
    const secret = await secretOf(context)
    await using directory = await ownFolder(context.workspace, folder)
    const entry = {
      version: 1,
      covers: scope.covers,
      at: new Date().toISOString(),
      seal: sealOf(secret, scope, context.workspace.root),
    }
    await writeState(`${directory.ref}/${nameOf(scope)}`, `${JSON.stringify(entry, null, 2)}\n`)
  } catch (error) {
    context.log('warn', `an answer for always is remembered for this session only: ${(error as Error).message}`)
  }
}

async function secretOf(context: Context): Promise<Buffer> {
  const file = keyFile(context)
  makeFolder(context.host.home, 0o700)
  // The first to make it wins; everybody then uses what is there.
  await writeFile(file, randomBytes(32), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  return readFile(file)
}
