import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, realpathSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { problem, VtError, type Contribution } from '../shapes/index.js'
import { inside, makeFolder, writeStateSync } from '../system/index.js'
import { readBytes } from '../documents/index.js'
import { digestOf, itemFor, type TrustItem } from './digest.js'
import { keepStanding } from './standing.js'
import { identityOf, treesOnce } from './tree.js'
import { consentPlace } from './worktree.js'

/** What the user agreed to in one workspace. */
export interface Trust {
  /** Why nothing is trusted, when the store cannot be used. */
  readonly fault?: VtError
  isTrusted(item: Pick<TrustItem, 'id' | 'digest'>): boolean
  /** The trusted contributions with what was agreed to. Each folder is hashed once. */
  trusted(contributions: readonly Contribution[]): Map<Contribution, TrustItem>
  /** Trusts exactly these items for the life of this process if VTCODE_TRUST is their digest. */
  accept(items: readonly TrustItem[]): void
  /** Throws VT_TRUST_STORE, and VT_TRUST_REFUSED in a program that vtcode started. */
  add(items: readonly TrustItem[]): void
  /** Takes consent back, of these ids or of everything. Throws VT_TRUST_STORE. */
  revoke(ids?: readonly string[]): void
  list(): Granted[]
}
export interface Granted {
  id: string
  title: string
  digest: string
  /** ISO 8601. */
  at: string
}
/** What was agreed to in one workspace, by id. */
export type Grants = Record<string, Omit<Granted, 'id'>>
interface Store {
  version: 1
  /** By real path, device and inode: neither a parent nor another spelling grants anything. */
  workspaces: Record<string, Grants>
}
export interface TrustOptions {
  /** The `.vtcode` folder of the user. */
  home: string
  workspace: string
  env: Record<string, string | undefined>
  /** `trust.audit_log` of the settings: gets a line for each change, before it counts. */
  audit?: string | undefined
}

/** Opens the trust store for one workspace. A store that cannot be used grants nothing; `fault` says why. */
export function openTrust(options: TrustOptions): Trust {
  const { home, workspace, env } = options
  const here = identityOf(consentPlace(workspace, home))
  const grantsIn = ({ workspaces }: Store): Grants => (Object.hasOwn(workspaces, here) ? workspaces[here]! : {})
  let accepted: readonly TrustItem[] = []
  let fault: VtError | undefined
  let grants: Grants = {}
  try {
    grants = grantsIn(readStore(options))
  } catch (error) {
    fault = storeFault(options, error as Error)
  }

  const change = (edit: (grants: Grants) => void): void => {
    grants = changeStore(options, here, edit)
    fault = undefined
  }
  const isTrusted: Trust['isTrusted'] = ({ id, digest }) => {
    // Where VTCODE_TRUST is given, it alone decides.
    if (env['VTCODE_TRUST']) return accepted.some((item) => item.id === id && item.digest === digest)
    return Object.hasOwn(grants, id) && grants[id]!.digest === digest
  }
  return {
    get fault() {
      return fault as VtError
    },
    isTrusted,
    trusted(contributions) {
      // A workspace without any consent costs a start nothing, however large its folders are.
      if (accepted.length === 0 && Object.keys(grants).length === 0) return new Map()
      const tree = treesOnce()
      return new Map(
        contributions.flatMap((contribution) => {
          try {
            const item = itemFor(contribution, workspace, tree)
            return isTrusted(item) ? [[contribution, keepStanding(workspace, contribution.id, item)]] : []
          } catch {
            return []
          }
        }),
      )
    },
    accept(items) {
      if (digestOf(items) === env['VTCODE_TRUST']) accepted = items
    },
    add(items) {
      if (env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
      change((grants) => {
        for (const { id, title, digest } of items) grants[id] = { title, digest, at: new Date().toISOString() }
      })
    },
    revoke(ids) {
      change((grants) => {
        for (const id of ids ?? Object.keys(grants)) delete grants[id]
      })
    },
    list: () => Object.entries(grants).map(([id, grant]) => ({ id, ...grant })),
  }
}

const fileOf = ({ home }: TrustOptions): string => join(home, 'trust.json')

function storeFault(options: TrustOptions, error: Error): VtError {
  return error instanceof VtError && error.code === 'VT_TRUST_STORE' ? error : unusable(options, error.message)
}

function unusable(options: TrustOptions, reason: string): VtError {
  const file = fileOf(options)
  return problem('VT_TRUST_STORE', { file, reason }, { details: { files: [file] } })
}

/** The whole store; empty where there is none. Throws VT_TRUST_STORE for one that others could have written. */
function readStore(options: TrustOptions): Store {
  const { home, workspace } = options
  const file = fileOf(options)
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return { version: 1, workspaces: {} }
  if (inside(realpathSync(workspace), realpathSync(home))) throw unusable(options, 'it lies below the workspace')
  if (!stat.isFile()) throw unusable(options, 'it is not a regular file')
  for (const { uid, mode } of [stat, lstatSync(home)]) {
    if (process.getuid && uid !== process.getuid()) throw unusable(options, 'it belongs to another user')
    if ((mode & 0o002) !== 0) throw unusable(options, 'everybody may write it')
  }
  if ((stat.mode & 0o020) !== 0) throw unusable(options, 'its group may write it')
  const store = JSON.parse(readBytes(file, { limit: 16 * 1_048_576 }).toString('utf8')) as Store | null
  if (store?.version !== 1 || typeof (store.workspaces ?? undefined) !== 'object')
    throw unusable(options, 'it is not a trust store of version 1')
  return store
}

/** Edits the grants of a workspace; the audit log comes first. Throws VT_TRUST_STORE. */
function changeStore(options: TrustOptions, here: string, edit: (grants: Grants) => void): Grants {
  const { home, workspace, audit } = options
  makeFolder(home, 0o700)
  if (inside(realpathSync(workspace), realpathSync(home))) throw unusable(options, 'it lies below the workspace')
  const store = readStore(options)
  const before = Object.hasOwn(store.workspaces, here) ? store.workspaces[here]! : {}
  const after = { ...before }
  edit(after)
  noteConsents({ home, audit, workspace: realpathSync(workspace) }, before, after)
  writeStateSync(
    fileOf(options),
    JSON.stringify({ ...store, workspaces: { ...store.workspaces, [here]: after } }, null, 2),
  )
  return after
}

/** Notes consents outside the store before they count; without `audit` nothing. Throws VT_TRUST_STORE. */
export function noteConsents(
  { home, audit, workspace }: Pick<TrustOptions, 'home' | 'audit' | 'workspace'>,
  before: Grants,
  after: Grants,
): void {
  try {
    if (audit !== undefined) appendAll(resolve(home, audit), changesOf(before, after, workspace))
  } catch (error) {
    throw unusable({ home, workspace, env: {} }, `trust.audit_log cannot be written (${(error as Error).message})`)
  }
}

/** What an edit of the grants of a workspace gives and takes, a line each. */
function changesOf(before: Grants, after: Grants, workspace: string): string {
  const at = new Date().toISOString()
  const given = Object.entries(after).filter(([id, grant]) => before[id] !== grant)
  const taken = Object.entries(before).filter(([id]) => !Object.hasOwn(after, id))
  const lines = [
    ['granted', given],
    ['revoked', taken],
  ] as const
  return lines
    .flatMap(([event, changed]) =>
      changed.map(([id, { title, digest }]) => `${JSON.stringify({ at, event, workspace, id, title, digest })}\n`),
    )
    .join('')
}

/** Adds lines to a file of the user's own, on disk when it returns; a link in its place is not followed. */
function appendAll(file: string, lines: string): void {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  makeFolder(dirname(file), 0o700)
  const fd = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    if (!fstatSync(fd).isFile()) throw new Error('it is not a regular file')
    writeSync(fd, lines)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
