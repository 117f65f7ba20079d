import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, realpathSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { problem, VtError, type Contribution } from '../shapes/index.js'
import { isInside, makeFolder, writeStateSync } from '../system/index.js'
import { readBytes } from '../documents/index.js'
import { computeDigest, toItemId, toTrustItem, type TrustItem } from './digest.js'
import type { Guard } from './guards.js'
import { recordConsent } from './consent_check.js'
import { readIdentity, createTreeReader } from './tree.js'
import { findConsentWorkspace } from './worktree.js'

/** The user's consents for one workspace. */
export interface Trust {
  /** The fault of an unusable store; then nothing is trusted. */
  readonly fault?: VtError
  isTrusted(item: Pick<TrustItem, 'id' | 'digest'>): boolean
  /** Returns the trusted contributions with their items. Each folder is hashed once. */
  listTrusted(contributions: readonly Contribution[]): Map<Contribution, TrustItem>
  /** Returns an earlier consent to a contribution or an item; an empty one where VTCODE_TRUST covers all items. */
  findEarlier(of: Contribution | string): Pick<Granted, 'guards'> | undefined
  /** Trusts exactly these items for the life of this process if VTCODE_TRUST is their digest. */
  accept(items: readonly TrustItem[]): void
  /** Throws VT_TRUST_STORE, and VT_TRUST_REFUSED in a program that vtcode started. */
  add(items: readonly TrustItem[]): void
  /** Revokes the consent to these ids, or to everything. Throws VT_TRUST_STORE. */
  revoke(ids?: readonly string[]): void
  list(): Granted[]
}
export interface Granted {
  id: string
  title: string
  digest: string
  /** ISO 8601. */
  at: string
  guards?: Guard[]
}
/** The consents for one workspace, by id. */
export type Grants = Record<string, Omit<Granted, 'id'>>
interface Store {
  version: 1
  /** By real path, device and inode: consent to a parent folder or another spelling grants nothing. */
  workspaces: Record<string, Grants>
}
export interface TrustOptions {
  /** The `.vtcode` folder of the user. */
  home: string
  workspace: string
  env: Record<string, string | undefined>
  /** `trust.audit_log` of the settings: gets a line for each change, before it takes effect. */
  audit?: string | undefined
}

/** Opens the trust store for one workspace. An unusable store grants nothing; `fault` gives the reason. */
export function openTrust(options: TrustOptions): Trust {
  const { home, workspace, env } = options
  const here = readIdentity(findConsentWorkspace(workspace, home))
  const findGrants = ({ workspaces }: Store): Grants => (Object.hasOwn(workspaces, here) ? workspaces[here]! : {})
  let accepted: readonly TrustItem[] = []
  let fault: VtError | undefined
  let grants: Grants = {}
  try {
    grants = findGrants(readStore(options))
  } catch (error) {
    fault = toStoreError(options, error as Error)
  }

  const change = (edit: (grants: Grants) => void): void => {
    grants = changeStore(options, here, edit)
    fault = undefined
  }
  const isTrusted: Trust['isTrusted'] = ({ id, digest }) => {
    // If VTCODE_TRUST is set, it alone decides.
    if (env['VTCODE_TRUST']) return accepted.some((item) => item.id === id && item.digest === digest)
    return Object.hasOwn(grants, id) && grants[id]!.digest === digest
  }
  return {
    get fault() {
      return fault as VtError
    },
    isTrusted,
    listTrusted(contributions) {
      // Without any consent, no folder is hashed, so the start costs nothing.
      if (accepted.length === 0 && Object.keys(grants).length === 0) return new Map()
      const tree = createTreeReader()
      return new Map(
        contributions.flatMap((contribution) => {
          try {
            const item = toTrustItem(contribution, workspace, tree)
            return isTrusted(item) ? [[contribution, recordConsent(workspace, contribution.id, item)]] : []
          } catch {
            return []
          }
        }),
      )
    },
    findEarlier: (of) => findEarlier(of, grants, options),
    accept(items) {
      if (computeDigest(items) === env['VTCODE_TRUST']) accepted = items
    },
    add(items) {
      if (env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
      change((grants) => {
        for (const item of items) grants[item.id] = toGrant(item)
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

function findEarlier(
  of: Contribution | string,
  grants: Grants,
  { env, workspace }: TrustOptions,
): ReturnType<Trust['findEarlier']> {
  if (env['VTCODE_TRUST']) return {}
  const id = typeof of === 'string' ? of : toItemId(of, workspace)
  return Object.hasOwn(grants, id) ? grants[id] : undefined
}

const toGrant = ({ title, digest, guards }: TrustItem): Grants[string] => ({
  title,
  digest,
  at: new Date().toISOString(),
  ...(guards && { guards }),
})

const storePath = ({ home }: TrustOptions): string => join(home, 'trust.json')

function toStoreError(options: TrustOptions, error: Error): VtError {
  return error instanceof VtError && error.code === 'VT_TRUST_STORE' ? error : createStoreError(options, error.message)
}

function createStoreError(options: TrustOptions, reason: string): VtError {
  const file = storePath(options)
  return problem('VT_TRUST_STORE', { file, reason }, { details: { files: [file] } })
}

/**
 * Reads the whole store; empty if there is none. Throws VT_TRUST_STORE for a file that other users could have written.
 */
function readStore(options: TrustOptions): Store {
  const { home, workspace } = options
  const file = storePath(options)
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return { version: 1, workspaces: {} }
  if (isInside(realpathSync(workspace), realpathSync(home)))
    throw createStoreError(options, 'it lies below the workspace')
  if (!stat.isFile()) throw createStoreError(options, 'it is not a regular file')
  for (const { uid, mode } of [stat, lstatSync(home)]) {
    if (process.getuid && uid !== process.getuid()) throw createStoreError(options, 'it belongs to another user')
    if ((mode & 0o002) !== 0) throw createStoreError(options, 'everybody may write it')
  }
  if ((stat.mode & 0o020) !== 0) throw createStoreError(options, 'its group may write it')
  const store = JSON.parse(readBytes(file, { limit: 16 * 1_048_576 }).toString('utf8')) as Store | null
  if (store?.version !== 1 || typeof (store.workspaces ?? undefined) !== 'object')
    throw createStoreError(options, 'it is not a trust store of version 1')
  return store
}

/** Edits the consents for a workspace; the audit log comes first. Throws VT_TRUST_STORE. */
function changeStore(options: TrustOptions, here: string, edit: (grants: Grants) => void): Grants {
  const { home, workspace, audit } = options
  makeFolder(home, 0o700)
  if (isInside(realpathSync(workspace), realpathSync(home)))
    throw createStoreError(options, 'it lies below the workspace')
  const store = readStore(options)
  const before = Object.hasOwn(store.workspaces, here) ? store.workspaces[here]! : {}
  const after = { ...before }
  edit(after)
  auditConsents({ home, audit, workspace: realpathSync(workspace) }, before, after)
  writeStateSync(
    storePath(options),
    JSON.stringify({ ...store, workspaces: { ...store.workspaces, [here]: after } }, null, 2),
  )
  return after
}

/**
 * Writes changed consents to the audit log before they take effect; does nothing without `audit`. Throws
 * VT_TRUST_STORE.
 */
export function auditConsents(
  { home, audit, workspace }: Pick<TrustOptions, 'home' | 'audit' | 'workspace'>,
  before: Grants,
  after: Grants,
): void {
  try {
    if (audit !== undefined) appendAll(resolve(home, audit), formatChanges(before, after, workspace))
  } catch (error) {
    throw createStoreError(
      { home, workspace, env: {} },
      `trust.audit_log cannot be written (${(error as Error).message})`,
    )
  }
}

/** Formats the changes of an edit, a line for each granted and revoked consent. */
function formatChanges(before: Grants, after: Grants, workspace: string): string {
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

/** Appends lines to a file of the user and syncs it to disk; a link in its place is not followed. */
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
