import { delimiter, join } from 'node:path'
import { searchPath, userOf } from '../../../core/system/index.js'
import { problem, type Context } from '../../../core/index.js'
import { markName } from '../../lib/process/index.js'
import { resolveValues } from '../../lib/values/index.js'

const locales = [
  'ALL',
  'CTYPE',
  'COLLATE',
  'MESSAGES',
  'MONETARY',
  'NUMERIC',
  'TIME',
  'ADDRESS',
  'IDENTIFICATION',
  'MEASUREMENT',
]
/** What a command may know of our environment: this list and nothing else, however harmless a name looks. */
const inherited = [
  ...['HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR', 'COLORTERM', 'CI', 'EDITOR'],
  ...locales.map((name) => `LC_${name}`),
]
/** Variables that change what runs; settings may set them, a call may not. */
const loaders = /^(LD_.*|DYLD_.*|NODE_OPTIONS|BASH_ENV|ENV|IFS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|GIT_.*|PATH|VTCODE.*)$/i

/** All of the environment of a command. Throws VT_INPUT_INVALID. */
export function commandEnvironment(
  declared: Record<string, string>,
  {
    workspace,
    configured,
    tty,
    mark,
  }: { workspace: string; configured: Record<string, string>; tty: boolean; mark: string },
): Record<string, string> {
  const own: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) own[name] = value
  }
  return {
    ...own,
    // Nothing that the workspace brings stands in for a program that a policy knows by its name.
    PATH: outsidePath(process.env.PATH ?? '', workspace),
    // What it reads comes through a socket; an outermost bash takes that for a login over the network and reads ~/.bashrc.
    SHLVL: '1',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    ...(tty ? { TERM: 'xterm-256color' } : { TERM: 'dumb', NO_COLOR: '1' }),
    ...configured,
    ...checked(declared),
    VTCODE: '1',
    [markName]: mark,
  }
}

let known: { path: string; workspace: string; outside: string } | undefined

function outsidePath(path: string, workspace: string): string {
  if (known?.path === path && known.workspace === workspace) return known.outside
  const outside = searchPath(path, workspace).join(delimiter)
  known = { path, workspace, outside }
  return outside
}

function checked(declared: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(declared)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw refuse(name, 'is no name of a variable')
    if (loaders.test(name)) throw refuse(name, 'changes which programs run and cannot be given in a call')
    if (/\0|\p{Cs}/u.test(value)) throw refuse(name, 'holds what no environment can hold')
  }
  return declared
}

const refuse = (name: string, why: string) =>
  problem('VT_INPUT_INVALID', { problem: `'env.${name.slice(0, 80)}' ${why}.` })

/** The variables of the setting `exec.env`, found where they are. Throws VT_SECRET_MISSING, VT_SECRET_REFUSED. */
export function configuredVariables(context: Context): Promise<Record<string, string>> {
  const { env } = context.host
  const file = join(userOf({ env }), 'exec.env')
  // Only the user's own settings have this key; a path in it that is relative is so to the home folder.
  const contribution = { id: 'the settings', plugin: 'settings', layer: 'user', file, manifest: {} } as const
  const adapterContext = { settings: {}, env, workspace: context.workspace.root, optionsOf: () => ({}) }
  return resolveValues(context.settings.exec.env, {
    contribution,
    adapterContext,
    field: 'exec.env',
    signal: context.signal,
  })
}
