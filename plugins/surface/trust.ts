import { isUtf8 } from 'node:buffer'
import { readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readBytes } from '../../core/documents/index.js'
import { openTrust, consentItems, VtError, type Io, type Kernel, type Trust } from '../../core/index.js'
import { digestOf, fileHash, type TrustItem } from '../../core/trust/index.js'
import { auditLog } from '../lib/state/index.js'
import {
  confirm,
  formatDocument,
  isInteractive,
  toOneLine,
  createPaint,
  printable,
  runCommand,
  say,
  createVerb,
} from '../lib/terminal/index.js'
import { askServers } from './trust/servers.js'

/** `vtcode trust`: what the workspace may run, with the user's consent to each content. */
export default async function trust(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const {
    workspace,
    inspection: { home },
  } = kernel
  const audit = auditLog(kernel.settings, io.env)
  const store = openTrust({ home, workspace, env: io.env, audit })
  if (store.fault) {
    say(io, 'error', `${store.fault.message} ${store.fault.problem.hint}`)
    return 1
  }
  const { agentItems } = await import('../agent/cli/index.js')
  const items = [
    ...(await consentItems({ workspace, home, user: io.env['HOME'] ?? '', env: io.env, trust: store })),
    ...agentItems(kernel, io.env),
  ]
  const waiting = items.filter((item) => !store.isTrusted(item))
  const consent = { workspace, io, store, items, waiting }

  const command = createVerb('trust', 'Shows what the workspace wants to run and has not been agreed to, and asks.', io)
    .option('--digest <digest>', 'agree to all items, if their digest is this one; `list` prints it')
    .action(
      async ({ digest }: { digest?: string }) =>
        void (code = digest === undefined ? await ask(consent) : byDigest(consent, digest)),
    )
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
    .action(
      (ids: string[], { all }: { all?: true }) =>
        void (code = choose(consent, ids, all ?? false, (chosen) => store.add(chosen))),
    )
  command
    .command('server')
    .description('Shows what MCP servers changed since you agreed to them, and asks whether to use it.')
    .argument('[name...]')
    .option('--yes', 'agree without a question')
    .action(async (names: string[], flags: { yes?: true }) => void (code = await askServers(home, names, flags, io)))
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
    io.stdout.write(
      items.length === 0
        ? 'Nothing in this workspace needs your consent.\n'
        : `You have agreed to all ${items.length} items of this workspace.\n`,
    )
    return 0
  }
  const earlier = new Set<string>()
  for (const item of waiting) {
    const shown = show(item, { workspace, io, store, means: await meaningOf(item), earlier })
    await written(io, shown.text)
    if (shown.stale !== undefined) {
      say(
        io,
        'error',
        `${toOneLine(relative(workspace, shown.stale))} changed while it was shown, so nothing of this was agreed to; look at it again.`,
      )
      continue
    }
    if (!isInteractive(io)) continue
    if (await confirm(io, question(item))) store.add([item])
    if (io.signal.aborted) return 1
  }
  const left = waiting.filter((item) => !store.isTrusted(item)).length
  if (!isInteractive(io))
    say(
      io,
      'error',
      `${left} not agreed to, and there is no terminal to ask at. To agree to exactly what is shown: vtcode trust --digest ${digestOf(items)}`,
    )
  return left === 0 ? 0 : 1
}

const setting = ({ id }: TrustItem): string | undefined => /#(custom_providers|agent\.model)$/.exec(id)?.[1]
const question = (item: TrustItem): string => {
  if (setting(item) === 'custom_providers') return 'May your prompts and code be sent there?'
  if (item.id.startsWith('agent:')) return `May ${toOneLine(item.id)} do more than read when a conversation starts it?`
  return setting(item) === 'agent.model'
    ? 'May this model be asked where you name none?'
    : `May ${toOneLine(item.id)} run with your rights?`
}

/** What the settings of a workspace about models would do, in sentences. */
async function meaningOf(item: TrustItem): Promise<string[]> {
  if (setting(item) === 'agent.model') return [`Model ${String(item.value)} would be asked where you name none.`]
  if (setting(item) !== 'custom_providers' || !Array.isArray(item.value)) return []
  const { providerShown } = await import('../agent/cli/index.js')
  return item.value.map(providerShown)
}

interface Showing extends Pick<Consent, 'workspace' | 'io' | 'store'> {
  means: string[]
  /** The contents that an earlier item showed: the tools of one folder have their files in common. */
  earlier: Set<string>
}

/**
 * An item in full, fit for a terminal: the settings and every byte of its files that no earlier item showed; `stale` is
 * a file that is no longer what the question is about.
 */
function show(item: TrustItem, { workspace, io, store, means, earlier }: Showing): { text: string; stale?: string } {
  const { bold, dim, yellow } = createPaint(io.stderr, io.env)
  const before = store.list().find(({ id }) => id === item.id)
  const changed = before ? yellow(`\nIt has changed since you agreed on ${before.at}.`) : ''
  const { root = workspace, tree } = item.agreed ?? {}
  const all = Object.entries(tree?.files ?? {}).map(([path, hash]) => {
    const file = join(root, path)
    const key = `${file}\0${hash}`
    const { text, same } = contents(file, hash)
    if (earlier.has(key)) return { file, text: '(shown above)', same }
    // Other bytes than those of the item are no part of it.
    if (same) earlier.add(key)
    return { file, text, same }
  })
  const files = all.flatMap(({ file, text }) => [dim(`── ${toOneLine(relative(workspace, file))}`), text])
  const value = item.value === undefined ? [] : [printable(JSON.stringify(item.value, null, 2))]
  const open = (item.uncovered ?? []).map((sentence) => yellow(toOneLine(`${sentence}.`)))
  const stale = all.find(({ same }) => !same)?.file
  return {
    text: `\n${bold(toOneLine(item.title))}  ${dim(toOneLine(item.id))}${changed}\n${[...means.map(toOneLine), ...value, ...files, ...open].join('\n')}\n`,
    ...(stale !== undefined && { stale }),
  }
}

/** What is asked about, whole however long it is; what is no text is named by its size and hash. */
function contents(file: string, hash: string): { text: string; same: boolean } {
  try {
    if (hash.startsWith('link-'))
      return { text: `(a link to ${toOneLine(readlinkSync(file))})`, same: linkHash(file) === hash }
    const bytes = readBytes(file, { limit: MAX_BYTES })
    const text =
      isUtf8(bytes) && !bytes.includes(0)
        ? printable(bytes.toString()).trimEnd()
        : `(no text: ${bytes.length} bytes, ${hash})`
    return { text, same: fileHash(bytes) === hash }
  } catch {
    return { text: '(it cannot be read any more)', same: false }
  }
}
/** No item is larger. */
const MAX_BYTES = 256 * 1_048_576
const linkHash = (file: string): string => `link-${fileHash(readlinkSync(file, 'buffer'))}`

/** A long text reaches the reader whole before the question. */
const written = (io: Io, text: string): Promise<void> =>
  new Promise((resolve) => void io.stderr.write(text, () => resolve()))

function byDigest({ io, store, items }: Consent, digest: string): number {
  if (digest === digestOf(items)) {
    store.add(items)
    io.stdout.write(`Agreed to ${items.length} ${items.length === 1 ? 'item' : 'items'}.\n`)
    return 0
  }
  say(
    io,
    'error',
    `The digest of what is there now is ${digestOf(items)}, not ${toOneLine(digest)}. Nothing was agreed to.`,
  )
  return 1
}

async function list({ io, store, items }: Consent, json: boolean): Promise<void> {
  const rows = await Promise.all(
    items.map(async (item) => {
      const { id, title, files, digest, value, uncovered } = item
      return {
        id,
        title,
        files,
        digest,
        ...(value !== undefined && { value }),
        ...(uncovered && { uncovered }),
        trusted: store.isTrusted(item),
        means: await meaningOf(item),
      }
    }),
  )
  if (json)
    return void io.stdout.write(
      formatDocument({
        digest: digestOf(items),
        items: rows.map(({ means, ...row }) => ({ ...row, ...(means.length > 0 && { means }) })),
      }),
    )
  for (const { id, title, trusted, means, uncovered = [] } of rows) {
    const below = [...means, ...uncovered.map((sentence) => `${sentence}.`)]
    io.stdout.write(
      `${trusted ? 'trusted ' : 'waiting '}  ${toOneLine(id)}  ${toOneLine(title)}\n${below.map((line) => `            ${toOneLine(line)}\n`).join('')}`,
    )
  }
  io.stdout.write(`digest of all: ${digestOf(items)}\n`)
}

function choose({ io, items }: Consent, ids: string[], all: boolean, act: (chosen: TrustItem[]) => void): number {
  const unknown = ids.filter((id) => !items.some((item) => item.id === id))
  if (unknown.length > 0 || (ids.length === 0 && !all)) {
    const wrong =
      unknown.length > 0 ? `Item not found: ${unknown.map(toOneLine).join(', ')}` : 'Name items or say --all'
    say(io, 'error', `${wrong}; there are: ${items.map(({ id }) => toOneLine(id)).join(', ') || 'none'}.`)
    return 2
  }
  const chosen = all ? items : items.filter(({ id }) => ids.includes(id))
  act(chosen)
  io.stdout.write(`Agreed to ${chosen.map(({ id }) => toOneLine(id)).join(', ') || 'nothing'}.\n`)
  return 0
}

/** Consent to what is no longer there can be taken back too. */
function revoke({ io, store }: Consent, ids: string[], all: boolean): number {
  if (ids.length === 0 && !all) {
    say(
      io,
      'error',
      `Name items or say --all; you have agreed to: ${
        store
          .list()
          .map(({ id }) => toOneLine(id))
          .join(', ') || 'nothing'
      }.`,
    )
    return 2
  }
  store.revoke(all ? undefined : ids)
  io.stdout.write(`Consent taken back: ${all ? 'everything' : ids.map(toOneLine).join(', ')}.\n`)
  return 0
}
