import { isUtf8 } from 'node:buffer'
import { readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readBytes } from '../../core/documents/index.js'
import { openTrust, listConsentItems, VtError, type Io, type Kernel, type Trust } from '../../core/index.js'
import { computeDigest, hashContent, type TrustItem } from '../../core/trust/index.js'
import { resolveAuditLog } from '../lib/state/index.js'
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

/** Runs `vtcode trust`: shows what the workspace wants to run and records the user's consent to each content. */
export default async function trust(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const {
    workspace,
    inspection: { home },
  } = kernel
  const audit = resolveAuditLog(kernel.settings, io.env)
  const store = openTrust({ home, workspace, env: io.env, audit })
  if (store.fault) {
    say(io, 'error', `${store.fault.message} ${store.fault.problem.hint}`)
    return 1
  }
  const { listTrustItems } = await import('../agent/cli/index.js')
  const items = [
    ...(await listConsentItems({ workspace, home, user: io.env['HOME'] ?? '', env: io.env, trust: store })),
    ...listTrustItems(kernel, io.env),
  ]
  const waiting = items.filter((item) => !store.isTrusted(item))
  const consent = { workspace, io, store, items, waiting }

  const command = createVerb('trust', 'Show what the workspace wants to run without your consent, and ask for it.', io)
    .option('--digest <digest>', 'agree to all items if their digest equals this one; `list` prints it')
    .action(
      async ({ digest }: { digest?: string }) =>
        void (code = digest === undefined ? await ask(consent) : agreeByDigest(consent, digest)),
    )
  command
    .command('list')
    .description('List every item, trusted or not, and the digest of all.')
    .option('--json', 'print one JSON document')
    .action(({ json }: { json?: true }) => list(consent, json ?? false))
  command
    .command('add')
    .description('Agree to these items without showing them.')
    .argument('[id...]')
    .option('--all', 'all items')
    .action(
      (ids: string[], { all }: { all?: true }) =>
        void (code = choose(consent, ids, all ?? false, (chosen) => store.add(chosen))),
    )
  command
    .command('server')
    .description('Show what MCP servers changed since you agreed to them, and ask whether to use it.')
    .argument('[name...]')
    .option('--yes', 'agree without a question')
    .action(async (names: string[], flags: { yes?: true }) => void (code = await askServers(home, names, flags, io)))
  command
    .command('revoke')
    .description('Revoke consent.')
    .argument('[id...]')
    .option('--all', 'revoke all items')
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
    const shown = renderItem(item, { workspace, io, store, means: await describeMeaning(item), earlier })
    await writeAll(io, shown.text)
    if (shown.stale !== undefined) {
      say(
        io,
        'error',
        `${toOneLine(relative(workspace, shown.stale))} changed while it was shown, so you did not agree to this ` +
          'item; run `vtcode trust` again.',
      )
      continue
    }
    if (!isInteractive(io)) continue
    if (await confirm(io, formatQuestion(item))) store.add([item])
    if (io.signal.aborted) return 1
  }
  const remaining = waiting.filter((item) => !store.isTrusted(item)).length
  if (!isInteractive(io))
    say(
      io,
      'error',
      `${remaining} not agreed to, and there is no terminal to ask at. To agree to exactly what is shown: vtcode ` +
        `trust --digest ${computeDigest(items)}`,
    )
  return remaining === 0 ? 0 : 1
}

const toSettingName = ({ id }: TrustItem): string | undefined => /#(custom_providers|agent\.model)$/.exec(id)?.[1]
const formatQuestion = (item: TrustItem): string => {
  if (toSettingName(item) === 'custom_providers') return 'May your prompts and code be sent there?'
  if (item.id.startsWith('agent:')) return `May ${toOneLine(item.id)} do more than read when a conversation starts it?`
  return toSettingName(item) === 'agent.model'
    ? 'May this model be used where you name none?'
    : `May ${toOneLine(item.id)} run with your rights?`
}

/** Describes in sentences what the model settings of a workspace do. */
async function describeMeaning(item: TrustItem): Promise<string[]> {
  if (toSettingName(item) === 'agent.model') return [`Model ${String(item.value)} is used where you name none.`]
  if (toSettingName(item) !== 'custom_providers' || !Array.isArray(item.value)) return []
  const { describeProvider } = await import('../agent/cli/index.js')
  return item.value.map(describeProvider)
}

interface RenderContext extends Pick<Consent, 'workspace' | 'io' | 'store'> {
  means: string[]
  /** Contents that an earlier item showed: tools of one folder share files. */
  earlier: Set<string>
}

/**
 * Renders an item in full for a terminal: its settings and every byte of its files that no earlier item showed.
 * `stale` is
 * a file that changed since the item was read.
 */
function renderItem(
  item: TrustItem,
  { workspace, io, store, means, earlier }: RenderContext,
): { text: string; stale?: string } {
  const { bold, dim, yellow } = createPaint(io.stderr, io.env)
  const before = store.list().find(({ id }) => id === item.id)
  const changed = before ? yellow(`\nIt has changed since you agreed on ${before.at}.`) : ''
  const { root = workspace, tree } = item.agreed ?? {}
  const all = Object.entries(tree?.files ?? {}).map(([path, hash]) => {
    const file = join(root, path)
    const key = `${file}\0${hash}`
    const { text, same } = renderContents(file, hash)
    if (earlier.has(key)) return { file, text: '(shown above)', same }
    // Changed bytes do not belong to the item.
    if (same) earlier.add(key)
    return { file, text, same }
  })
  const files = all.flatMap(({ file, text }) => [dim(`── ${toOneLine(relative(workspace, file))}`), text])
  const value = item.value === undefined ? [] : [printable(JSON.stringify(item.value, null, 2))]
  const warnings = (item.uncovered ?? []).map((sentence) => yellow(toOneLine(`${sentence}.`)))
  const stale = all.find(({ same }) => !same)?.file
  return {
    text:
      `\n${bold(toOneLine(item.title))}  ${dim(toOneLine(item.id))}${changed}\n` +
      `${[...means.map(toOneLine), ...value, ...files, ...warnings].join('\n')}\n`,
    ...(stale !== undefined && { stale }),
  }
}

/** Renders a whole file, whatever its length; binary content as its size and hash. */
function renderContents(file: string, hash: string): { text: string; same: boolean } {
  try {
    if (hash.startsWith('link-'))
      return { text: `(a link to ${toOneLine(readlinkSync(file))})`, same: hashLink(file) === hash }
    const bytes = readBytes(file, { limit: MAX_BYTES })
    const text =
      isUtf8(bytes) && !bytes.includes(0)
        ? printable(bytes.toString()).trimEnd()
        : `(binary: ${bytes.length} bytes, ${hash})`
    return { text, same: hashContent(bytes) === hash }
  } catch {
    return { text: '(cannot be read)', same: false }
  }
}
/** The size limit of an item. */
const MAX_BYTES = 256 * 1_048_576
const hashLink = (file: string): string => `link-${hashContent(readlinkSync(file, 'buffer'))}`

/** Writes a text and waits until it is printed, so that the question follows it. */
const writeAll = (io: Io, text: string): Promise<void> =>
  new Promise((resolve) => void io.stderr.write(text, () => resolve()))

function agreeByDigest({ io, store, items }: Consent, digest: string): number {
  if (digest === computeDigest(items)) {
    store.add(items)
    io.stdout.write(`Agreed to ${items.length} ${items.length === 1 ? 'item' : 'items'}.\n`)
    return 0
  }
  say(
    io,
    'error',
    `The digest of the items is now ${computeDigest(items)}, not ${toOneLine(digest)}. Nothing was agreed to.`,
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
        means: await describeMeaning(item),
      }
    }),
  )
  if (json)
    return void io.stdout.write(
      formatDocument({
        digest: computeDigest(items),
        items: rows.map(({ means, ...row }) => ({ ...row, ...(means.length > 0 && { means }) })),
      }),
    )
  for (const { id, title, trusted, means, uncovered = [] } of rows) {
    const below = [...means, ...uncovered.map((sentence) => `${sentence}.`)]
    io.stdout.write(
      `${trusted ? 'trusted ' : 'waiting '}  ${toOneLine(id)}  ` +
        `${toOneLine(title)}\n${below.map((line) => `            ${toOneLine(line)}\n`).join('')}`,
    )
  }
  io.stdout.write(`digest of all: ${computeDigest(items)}\n`)
}

function choose({ io, items }: Consent, ids: string[], all: boolean, act: (chosen: TrustItem[]) => void): number {
  const unknown = ids.filter((id) => !items.some((item) => item.id === id))
  if (unknown.length > 0 || (ids.length === 0 && !all)) {
    const wrong =
      unknown.length > 0 ? `Item not found: ${unknown.map(toOneLine).join(', ')}` : 'Name items or give --all'
    say(io, 'error', `${wrong}; there are: ${items.map(({ id }) => toOneLine(id)).join(', ') || 'none'}.`)
    return 2
  }
  const chosen = all ? items : items.filter(({ id }) => ids.includes(id))
  act(chosen)
  io.stdout.write(`Agreed to ${chosen.map(({ id }) => toOneLine(id)).join(', ') || 'nothing'}.\n`)
  return 0
}

/** Revokes consent, also for items that no longer exist. */
function revoke({ io, store }: Consent, ids: string[], all: boolean): number {
  if (ids.length === 0 && !all) {
    say(
      io,
      'error',
      `Name items or give --all; you have agreed to: ${
        store
          .list()
          .map(({ id }) => toOneLine(id))
          .join(', ') || 'nothing'
      }.`,
    )
    return 2
  }
  store.revoke(all ? undefined : ids)
  io.stdout.write(`Consent revoked: ${all ? 'everything' : ids.map(toOneLine).join(', ')}.\n`)
  return 0
}
