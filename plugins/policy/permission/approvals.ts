import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, sha256, writeState } from '../../../core/system/index.js'
import { redactText, truncateLine } from '../../../core/text/index.js'
import type { Context, JsonObject, ApprovalMemory } from '../../../core/index.js'
import { toCanonicalJson } from '../../../core/trust/index.js'
import { parsePatch } from '../../lib/patch/index.js'
import { getStartedCommands } from '../../lib/process/index.js'
import { readWorkdir, listEffectiveInput, type CallFacts } from '../../lib/rules/index.js'
import { openPrivateFolder } from '../../lib/state/index.js'

/** Scope of a lasting approval: `covers` for a person, `key` for comparison. */
interface Scope {
  covers: string
  key: string
  /** Wider scopes, each of which covers the call too. */
  outer?: readonly Scope[]
}

const APPROVALS_FOLDER = '.vtcode/approvals'

/** Returns the lasting approvals for a call: in memory for the session, or signed in a file for always. */
export function findApprovals(
  facts: CallFacts,
  context: Context,
): { has(): Promise<boolean>; lasting: ApprovalMemory | undefined } {
  const scopes = createEditScopes(facts) ?? [createScope(facts, context)].flatMap((scope) => scope ?? [])
  const known = context.session.state('approvals', () => new Set<string>())
  const isKept = async (scope: Scope): Promise<boolean> => {
    for (const one of [scope, ...(scope.outer ?? [])])
      if (known.has(one.key) || (await isStored(one, context))) return true
    return false
  }
  return {
    has: async () => {
      for (const scope of scopes) if (!(await isKept(scope))) return false
      return scopes.length > 0
    },
    lasting: scopes[0] && {
      covers: scopes.map(({ covers }) => covers).join(', '),
      async keep(term) {
        if (term === 'once') return
        for (const scope of scopes) known.add(scope.key)
        if (term === 'always') for (const scope of scopes) await store(scope, context)
      },
    },
  }
}

/** The slots that change the text of files. A patch counts while it only adds files and changes their text. */
const EDIT_SLOTS = new Set(['unified_file/edit', 'unified_file/write', 'unified_file/patch', 'apply_patch'])
/** More places than this are approved by the exact call. */
const MAX_EDIT_SCOPES = 4

/**
 * Creates the scopes of an edit: all edits in the folders of its files, or of a file in the root. `undefined` for other
 * calls, and where a link leads to the file.
 */
function createEditScopes({ call }: CallFacts): Scope[] | undefined {
  if (!EDIT_SLOTS.has(call.slot) || call.places.length === 0) return undefined
  if (call.effects.some((effect) => effect !== 'write')) return undefined
  if (call.places.some(({ given, resolved, entry }) => given !== resolved || given !== entry)) return undefined
  if (![call.input['patch'], call.input['input']].every((text) => typeof text !== 'string' || isPlainPatch(text)))
    return undefined
  const scopes = new Map<string, Scope>()
  for (const { given } of call.places) {
    const [first, ...outer] = listScopesAbove(given)
    scopes.set(first!.key, { ...first!, outer })
  }
  return scopes.size > MAX_EDIT_SCOPES ? undefined : [...scopes.values()]
}

/** Returns whether a patch only adds files and changes text: it removes, moves and copies none, and changes no mode. */
function isPlainPatch(text: string): boolean {
  try {
    return parsePatch(text).every((section) =>
      section.op === 'add'
        ? !section.executable
        : section.op === 'update' && section.to === undefined && section.executable === undefined,
    )
  } catch {
    return false
  }
}

/** Lists the scopes that cover a file: its folder and those above it, or the file itself in the root. */
function listScopesAbove(path: string): Scope[] {
  const parts = path.split('/').slice(0, -1)
  const scope = (covers: string, ...key: unknown[]): Scope => ({ covers, key: toCanonicalJson(['edits', ...key]) })
  if (parts.length === 0) return [scope(`all edits of '${path}'`, 'file', path)]
  return parts.map((_, at) => {
    const folder = `${parts.slice(0, parts.length - at).join('/')}/`
    return scope(`all edits in '${folder}'`, 'folder', folder)
  })
}

function createScope(facts: CallFacts, context: Context): Scope | undefined {
  const { call } = facts
  const { slot, given } = call
  const at = readWorkdir(facts)
  // A link that changes after the answer leads to a path without approval.
  const led = call.places.flatMap(({ given: name, resolved }) =>
    name === resolved ? [] : `'${name}' leads to '${resolved}'`,
  )
  const scope = (covers: string, ...parts: unknown[]): Scope => ({
    covers: [covers, ...led].join(', '),
    key: toCanonicalJson([slot, ...parts, ...led]),
  })
  if (facts.hasCommand) {
    const argv = readArgv(facts)
    if (!argv) return undefined
    // The command and its folder come first; every other property that affects the run follows.
    const around = listEffectiveInput(call, context.slot).filter(
      ([name]) => !['command', 'args', 'workdir', 'cwd'].includes(name),
    )
    const extra = around.map(([name, value]) => `${name} ${shortenValue(value)}`).join(', ')
    return scope(`\`${argv.shown}\` in '${at}'${extra && ` with ${extra}`}`, argv.words, at, around)
  }
  const { program } = context.slot
  if (program !== undefined) {
    const shape = Object.entries(given)
      .map(([name, value]) => [name, isFreeText(context, name) ? '…' : value] as const)
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
  return createCallScope(facts, context, scope)
}

/** Creates the scope of exactly one call. The same change of files is not made twice: a rule is what lasts there. */
function createCallScope(
  facts: CallFacts,
  context: Context,
  scope: (covers: string, ...parts: unknown[]) => Scope,
): Scope | undefined {
  const { call } = facts
  if (call.effects.includes('write') && call.places.length > 0) return undefined
  const sent = findReceiver(facts, context)
  return scope(
    `exactly this call of ${call.slot}${sent ? `, to ${sent.shown}` : ''}`,
    listEffectiveInput(call, context.slot),
    ...(sent ? [sent.mark] : []),
  )
}

/**
 * Returns the running command that gets the input of a call. Its id may be used again, so an approval is for this
 * start.
 */
export function findReceiver({ call, slot }: CallFacts, context: Context): { shown: string; mark: string } | undefined {
  const id = call.input.session_id
  const found = slot.continues && typeof id === 'string' ? getStartedCommands(context).get(id) : undefined
  return (
    found && { shown: `\`${truncateLine([found.command].flat().join(' '), 200)}\` in '${found.cwd}'`, mark: found.mark }
  )
}

/** Shortens a long text to both ends, its length and its digest, so that it identifies the text. */
function shortenValue(value: unknown): string {
  const text = toCanonicalJson(value)
  return text.length <= 400
    ? text
    : `${text.slice(0, 160)} … (${text.length} characters, sha256 ${sha256(text).slice(0, 16)}) … ${text.slice(-160)}`
}

/**
 * Returns the argv of a program with static words, however it was quoted, and any other static line as written. A
 * line with dynamic words has no scope.
 */
function readArgv(facts: CallFacts): { shown: string; words: unknown } | undefined {
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

/** Checks whether a property is free text, which may vary within a scope; a choice, a number or a switch may not. */
function isFreeText({ slot }: Context, name: string): boolean {
  const schema = ((slot.input.properties ?? {}) as Record<string, JsonObject>)[name]
  return schema?.type === 'string' && schema.enum === undefined
}

const createFileName = ({ key }: Scope): string => `${sha256(key).slice(0, 16)}.json`

// A workspace may contain foreign files: a stored approval counts only with a seal by this user's key for this
// workspace.
const createSeal = (secret: Buffer, scope: Scope, root: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify([root, scope.key, scope.covers]))
    .digest('hex')
const resolveKeyFile = ({ host }: Context): string => join(host.home, 'approvals.key')

async function isStored(scope: Scope, context: Context): Promise<boolean> {
  try {
    const { seal } = JSON.parse(
      await context.workspace.readText(`${APPROVALS_FOLDER}/${createFileName(scope)}`, { max_bytes: 65_536 }),
    ) as {
      seal?: unknown
    }
    const expected = Buffer.from(createSeal(await readFile(resolveKeyFile(context)), scope, context.workspace.root))
    const presented = Buffer.from(String(seal))
    return presented.length === expected.length && timingSafeEqual(presented, expected)
  } catch {
    return false
  }
}

/** Stores an approval. If that fails, the approval counts for the session only. */
async function store(scope: Scope, context: Context): Promise<void> {
  try {
    const secret = await loadSecret(context)
    await using directory = await openPrivateFolder(context.workspace, APPROVALS_FOLDER)
    const entry = {
      version: 1,
      covers: redactText(scope.covers),
      at: new Date().toISOString(),
      seal: createSeal(secret, scope, context.workspace.root),
    }
    await writeState(`${directory.ref}/${createFileName(scope)}`, `${JSON.stringify(entry, null, 2)}\n`)
  } catch (error) {
    context.log(
      'warn',
      `The approval counts for this session only, because it could not be stored: ${(error as Error).message}`,
    )
  }
}

async function loadSecret(context: Context): Promise<Buffer> {
  const file = resolveKeyFile(context)
  makeFolder(context.host.home, 0o700)
  // The first process creates the key; all others use it.
  await writeFile(file, randomBytes(32), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  return readFile(file)
}
