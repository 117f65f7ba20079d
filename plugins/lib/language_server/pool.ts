import { dirname } from 'node:path'
import type { Context } from '../../../core/contract/index.js'
import { VtError, type Launch, type Settings } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'
import { createChildEnvironment, isInside, toRealPath } from '../../../core/system/index.js'
import { createHiddenFilter } from '../../../core/workspace/index.js'
import { requireUnchanged } from '../../../core/trust/index.js'
import { createSlotError, cut } from '../base/index.js'
import { confineLaunch, findImportRoot, findSandbox, listHiddenPaths, prepareConfinement } from '../sandbox/index.js'
import { findLanguage, listDefinitions, type LanguageServerDefinition } from './definition.js'
import { findProjectRoot, locateProgram, type LocatedProgram } from './locate.js'
import { LanguageServer, ServerError } from './server.js'

/** The blocks of the settings that a user of this room needs. */
export type ServerSettings = Pick<Settings, 'language_servers' | 'sandbox' | 'policy'>
export type ServerContext = Pick<Context, 'host' | 'workspace' | 'session'> & { settings: ServerSettings }

interface Located {
  definition: LanguageServerDefinition
  root: string
  program: LocatedProgram
}

/** Running servers with the sessions that use them, by all that decides what a server is and may do. */
const servers = new Map<string, { server: LanguageServer; sessions: Set<string> }>()

/** A search for a program counts for this time, in milliseconds: most edits concern files without a server. */
const SEARCH_MS = 5_000
const MAX_SEARCHES = 1_000
const searches = new Map<string, { at: number; located: Located | undefined }>()

/**
 * Returns the server of a file, which all sessions of this workspace share; nothing where no program was found. The
 * server starts on its first use.
 */
export function findServer(path: string, context: ServerContext): LanguageServer | undefined {
  if (!context.settings.language_servers.enabled) return undefined
  const located = locate(path, context)
  return located && acquire(located, context)
}

/** Lists the definitions that serve the files of this name, those that are preferred first. */
const listServing = (path: string, host: Context['host']): LanguageServerDefinition[] =>
  listDefinitions(host.contributions()).filter((definition) => findLanguage(definition, path) !== undefined)

/** Returns whether a definition serves the files of this name. */
export const isServed = (path: string, { host }: Pick<Context, 'host'>): boolean => listServing(path, host).length > 0

/** Groups items by the server of their file. Items of files without a server are in no group. */
export function groupByServer<T>(
  items: readonly T[],
  toPath: (item: T) => string,
  context: ServerContext,
): Map<LanguageServer, T[]> {
  const groups = new Map<LanguageServer, T[]>()
  for (const item of items) {
    const server = findServer(toPath(item), context)
    if (server) groups.set(server, [...(groups.get(server) ?? []), item])
  }
  return groups
}

function locate(path: string, { host, workspace: { root: workspace } }: ServerContext): Located | undefined {
  const serving = listServing(path, host)
  if (serving.length === 0) return undefined
  const searchPath = host.env['PATH']
  const key = JSON.stringify([workspace, dirname(path), searchPath, serving])
  const known = searches.get(key)
  if (known && Date.now() - known.at < SEARCH_MS) return known.located
  let located: Located | undefined
  for (const definition of serving) {
    const program = locateProgram(definition, { workspace, path, searchPath })
    if (!program) continue
    located = { definition, root: findProjectRoot(workspace, path, definition), program }
    break
  }
  if (searches.size >= MAX_SEARCHES) searches.clear()
  searches.set(key, { at: Date.now(), located })
  return located
}

function acquire({ definition, root, program }: Located, context: ServerContext): LanguageServer {
  const { host, session, settings, workspace } = context
  const { language_servers: limits } = settings
  const key = JSON.stringify([
    workspace.root,
    host.home,
    host.env['PATH'],
    definition,
    root,
    program,
    limits,
    settings.sandbox,
    settings.policy.deny,
  ])
  const held = servers.get(key) ?? {
    server: new LanguageServer({
      definition,
      workspace: workspace.root,
      root,
      program,
      prepareLaunch: () => prepareLaunch({ definition, root, program }, context),
      isHidden: createHiddenFilter(settings, workspace),
      max_memory_mb: limits.max_memory_mb,
      idle_ms: limits.idle_minutes * 60_000,
      restart_ms: host.timeouts.restart,
    }),
    sessions: new Set<string>(),
  }
  servers.set(key, held)
  const used = session.state('language_servers', () => {
    const keys = new Set<string>()
    session.onClose(() => release(session.id, keys))
    return keys
  })
  used.add(key)
  held.sessions.add(session.id)
  return held.server
}

/** Ends the servers that no other session uses. */
async function release(session: string, keys: Set<string>): Promise<void> {
  const unused = [...keys].flatMap((key) => {
    const held = servers.get(key)
    if (!held || !held.sessions.delete(session) || held.sessions.size > 0) return []
    servers.delete(key)
    return [held.server.close()]
  })
  await Promise.all(unused)
}

/** Returns the launch of a server, in the sandbox unless the settings of the user disable it. Throws ServerError. */
async function prepareLaunch({ definition, root, program }: Located, context: ServerContext): Promise<Launch> {
  const { host, settings, workspace } = context
  const { args = [], env = {}, id, layer } = definition
  requireUnchanged(workspace.root, { id, layer })
  const launch = {
    file: program.file,
    args,
    cwd: root,
    env: { ...createChildEnvironment(host.env), ...env },
  }
  const shown = findShownPath(program, workspace)
  if (settings.language_servers.sandbox === 'off') {
    // Consent covers the program that a definition in the repository names by its path, and nothing else there.
    if (program.inside && !(layer === 'workspace' && definition.command.includes('/')))
      throw new ServerError('its program is in the workspace and runs only in the sandbox')
    return launch
  }
  const found = await findSandbox(workspace.root)
  if ('missing' in found)
    throw new ServerError(`it needs the sandbox: ${found.missing}; language_servers.sandbox: off runs it without`)
  const { plugins: _, mode: __, ...limits } = settings.sandbox
  const hidden = listHiddenPaths({ settings, workspace: workspace.root, env: host.env })
  return confineLaunch(
    found.tools,
    launch,
    await prepareConfinement({
      workspace: workspace.root,
      own: host.home,
      // A server only reads; its changes are made by calls.
      writable: false,
      cwd: root,
      shown,
      settings: { ...limits, network: false, writable: [], deny_read: [...limits.deny_read, ...hidden] },
    }),
  )
}

/**
 * Returns the path outside of the workspace that the sandbox shows for a program: its package, or only itself where the
 * folder contains the home of the user. Throws ServerError where the workspace names a program of another place, which
 * would show the files around it to the code of the repository.
 */
function findShownPath({ file, inside }: LocatedProgram, { root, user }: Context['workspace']): string[] {
  const real = toRealPath(file)
  if (isInside(root, real)) return []
  if (inside) throw new ServerError('its program leads out of the workspace')
  const folder = findImportRoot(dirname(real))
  return [isInside(folder, user) ? real : folder]
}

/** Returns the error for a file without a server. Its message says what is missing. */
export function createMissingError(
  path: string,
  { host, settings }: Pick<ServerContext, 'host' | 'settings'>,
): VtError {
  const names = [...new Set(listServing(path, host).map(({ command }) => command))].join(' or ')
  const reason = !settings.language_servers.enabled
    ? 'language_servers.enabled is false'
    : names === ''
      ? 'no definition serves files of this name'
      : `${names} is neither in the project nor in PATH`
  return createSlotError('VT_LANGUAGE_SERVER_MISSING', `No language server for '${visibleLine(path)}': ${reason}.`)
}

/** Returns the error for a server that cannot be used; errors of this program stay unchanged. */
export const createServerError = (server: LanguageServer, error: Error): VtError =>
  error instanceof VtError
    ? error
    : createSlotError(
        'VT_LANGUAGE_SERVER_FAILED',
        `The language server ${server.options.definition.name} cannot be used: ` +
          `${cut(visibleLine(error.message), 400).text}.`,
        { retryable: true },
      )
