import { join } from 'node:path'
import { cleanSearchPath, resolveUserFolder } from '../../../core/system/index.js'
import { problem, type Context } from '../../../core/index.js'
import { RUN_MARK } from '../../lib/process/index.js'
import { resolveValues } from '../../lib/values/index.js'

const LOCALE_CATEGORIES = [
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
/** The variables of the kernel that a command inherits; all others are left out, however harmless they seem. */
const INHERITED_VARIABLES = [
  ...['HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR', 'COLORTERM', 'CI', 'EDITOR'],
  ...LOCALE_CATEGORIES.map((name) => `LC_${name}`),
]
/** Variables that change what runs; settings may set them, a call may not. */
const LOADER_VARIABLES =
  /^(LD_.*|DYLD_.*|NODE_OPTIONS|BASH_ENV|ENV|IFS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|GIT_.*|PATH|VTCODE.*)$/i

/** Builds the whole environment of a command from that of the kernel. Throws VT_INPUT_INVALID. */
export function buildCommandEnvironment(
  declared: Record<string, string>,
  {
    env,
    configured,
    tty,
    mark,
  }: {
    env: Readonly<Record<string, string | undefined>>
    configured: Record<string, string>
    tty: boolean
    mark: string
  },
): Record<string, string> {
  const own: Record<string, string> = {}
  for (const name of INHERITED_VARIABLES) {
    const value = env[name]
    if (value !== undefined) own[name] = value
  }
  return {
    ...own,
    // Programs of the workspace must not replace those that policies know by name.
    PATH: cleanSearchPath(env['PATH'] ?? ''),
    // Standard input is a socket; an outermost bash would take that for a network login and read ~/.bashrc.
    SHLVL: '1',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    ...(tty ? { TERM: 'xterm-256color' } : { TERM: 'dumb', NO_COLOR: '1' }),
    ...configured,
    ...validateVariables(declared),
    VTCODE: '1',
    [RUN_MARK]: mark,
  }
}

function validateVariables(declared: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(declared)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw createVariableError(name, 'is not a valid variable name')
    if (LOADER_VARIABLES.test(name)) throw createVariableError(name, 'changes which programs run; a call cannot set it')
    if (/\0|\p{Cs}/u.test(value)) throw createVariableError(name, 'has a NUL character or half of a surrogate pair')
  }
  return declared
}

const createVariableError = (name: string, why: string) =>
  problem('VT_INPUT_INVALID', { problem: `'env.${name.slice(0, 80)}' ${why}.` })

/** Resolves the variables of the setting `exec.env`. Throws VT_SECRET_MISSING, VT_SECRET_REFUSED. */
export function resolveConfiguredVariables(context: Context): Promise<Record<string, string>> {
  const { env } = context.host
  const file = join(resolveUserFolder({ env }), 'exec.env')
  // Only user settings have this key; relative paths in it start at the home folder.
  const contribution = { id: 'the settings', plugin: 'settings', layer: 'user', file, manifest: {} } as const
  const adapterContext = { settings: {}, env, workspace: context.workspace.root, resolveOptions: () => ({}) }
  return resolveValues(context.settings.exec.env, {
    contribution,
    adapterContext,
    field: 'exec.env',
    signal: context.signal,
  })
}
