import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { relative } from 'node:path'
import { readBytes } from '../../core/documents/index.js'
import { homeOf, openTrust, consentItems, VtError, type Io, type Kernel, type Trust } from '../../core/index.js'
import { digestOf, type TrustItem } from '../../core/trust/index.js'
import { confirmed, interactive, oneLine, paint, printable, runCommand, say, verb } from '../lib/terminal/index.js'

/** Files are shown whole up to this size; a longer one is not agreed to unseen, it has to be looked at elsewhere. */
const SHOWN = 256 * 1024

/** `vtcode trust`: what the workspace may run, with the user's consent to each content. */
export default async function trust(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const { workspace } = kernel
  const home = homeOf({ env: io.env })
  const { audit_log: log } = kernel.settings['trust'] as { audit_log?: string }
  const audit = log?.replace(/^~(?=\/)/, io.env['HOME'] ?? homedir())
  const store = openTrust({ home, workspace, env: io.env, audit })
  if (store.fault) {
    say(io, 'error', `${store.fault.message} ${store.fault.problem.hint}`)
    return 1
  }
  const items = await consentItems({ workspace, home, user: io.env['HOME'] ?? '', env: io.env, trust: store })
  const waiting = items.filter((item) => !store.isTrusted(item))
  const consent = { workspace, io, store, items, waiting }

  const command = verb('trust', 'Shows what the workspace wants to run and has not been agreed to, and asks.', io)
    .option('--digest <digest>', 'agree to all items, if their digest is this one; `list` prints it')
    .action(async ({ digest }: { digest?: string }) => void (code = digest === undefined ? await ask(consent) : byDigest(consent, digest)))
  command
    .command('list')
    .description('Lists every item, trusted or not, with the digest of them all.')
    .option('--json', 'as one JSON document')
    .action(({ json }: { json?: true }) => list(consent, json ?? false))
  command
    .command('add')
    .description('Agrees to these items without showing them.')
    .argument('[id...]')
    .option('--all', 'every item')
    .action((ids: string[], { all }: { all?: true }) => void (code = choose(consent, ids, all ?? false, (chosen) => store.add(chosen))))
  command
    .command('revoke')
    .description('Takes consent back.')
    .argument('[id...]')
    .option('--all', 'of every item')
    .action((ids: string[], { all }: { all?: true }) => void (code = revoke(consent, ids, all ?? false)))
  try {
    return await runCommand(command, argv, () => code)
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    say(io, 'error', `${error.message} ${error.problem.hint}`)
    return 1
  }
}

interface Consent {
  workspace: string
  io: Io
  store: Trust
  items: TrustItem[]
  waiting: TrustItem[]
}

async function ask({ workspace, io, store, items, waiting }: Consent): Promise<number> {
  if (waiting.length === 0) {
    io.stdout.write(items.length === 0 ? 'Nothing in this workspace needs your consent.\n' : `You have agreed to all ${items.length} items of this workspace.\n`)
    return 0
  }
  for (const item of waiting) {
    io.stderr.write(show(item, { workspace, io, store }))
    if (!interactive(io)) continue
    if (await confirmed(io, `May ${oneLine(item.id)} run with your rights?`)) store.add([item])
    if (io.signal.aborted) return 1
  }
  const left = waiting.filter((item) => !store.isTrusted(item)).length
  if (!interactive(io)) say(io, 'error', `${left} not agreed to, and there is no terminal to ask at. To agree to exactly what is shown: vtcode trust --digest ${digestOf(items)}`)
  return left === 0 ? 0 : 1
}

/** An item in full: the settings and every file of it, fit for a terminal. */
function show(item: TrustItem, { workspace, io, store }: Pick<Consent, 'workspace' | 'io' | 'store'>): string {
  const { bold, dim, yellow } = paint(io.stderr, io.env)
  const before = store.list().find(({ id }) => id === item.id)
  const changed = before ? yellow(`\nIt has changed since you agreed on ${before.at}.`) : ''
  const files = item.files.flatMap((file) => [dim(`── ${oneLine(relative(workspace, file))}`), contents(file)])
  const value = item.value === undefined ? [] : [printable(JSON.stringify(item.value, null, 2))]
  return `\n${bold(oneLine(item.title))}  ${dim(oneLine(item.id))}${changed}\n${[...value, ...files].join('\n')}\n`
}

function contents(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat?.isFile()) return stat?.isDirectory() ? '(a folder; every file in it is covered)' : '(not there)'
  return stat.size > SHOWN ? `(${stat.size} bytes; look at it with an editor)` : printable(readBytes(file, { limit: SHOWN }).toString()).trimEnd()
}

function byDigest({ io, store, items }: Consent, digest: string): number {
  if (digest === digestOf(items)) {
    store.add(items)
    io.stdout.write(`Agreed to ${items.length} items.\n`)
    return 0
  }
  say(io, 'error', `The digest of what is there now is ${digestOf(items)}, not ${oneLine(digest)}. Nothing was agreed to.`)
  return 1
}

function list({ io, store, items }: Consent, json: boolean): void {
  const rows = items.map(({ id, title, files, digest, value }) => ({ id, title, files, digest, ...(value !== undefined && { value }), trusted: store.isTrusted({ id, digest }) }))
  if (json) return void io.stdout.write(`${JSON.stringify({ digest: digestOf(items), items: rows })}\n`)
  for (const { id, title, trusted } of rows) io.stdout.write(`${trusted ? 'trusted ' : 'waiting '}  ${oneLine(id)}  ${oneLine(title)}\n`)
  io.stdout.write(`digest of all: ${digestOf(items)}\n`)
}

function choose({ io, items }: Consent, ids: string[], all: boolean, act: (chosen: TrustItem[]) => void): number {
  const unknown = ids.filter((id) => !items.some((item) => item.id === id))
  if (unknown.length > 0 || (ids.length === 0 && !all)) {
    const wrong = unknown.length > 0 ? `There is no item ${unknown.map(oneLine).join(', ')}` : 'Name items or say --all'
    say(io, 'error', `${wrong}; there are: ${items.map(({ id }) => oneLine(id)).join(', ') || 'none'}.`)
    return 2
  }
  const chosen = all ? items : items.filter(({ id }) => ids.includes(id))
  act(chosen)
  io.stdout.write(`Agreed to ${chosen.map(({ id }) => oneLine(id)).join(', ') || 'nothing: there is no item'}.\n`)
  return 0
}

/** Consent to what is no longer there can be taken back too. */
function revoke({ io, store }: Consent, ids: string[], all: boolean): number {
  if (ids.length === 0 && !all) {
    say(io, 'error', `Name items or say --all; you have agreed to: ${store.list().map(({ id }) => oneLine(id)).join(', ') || 'nothing'}.`)
    return 2
  }
  store.revoke(all ? undefined : ids)
  io.stdout.write(`Consent taken back: ${all ? 'everything' : ids.map(oneLine).join(', ')}.\n`)
  return 0
}
