import { makeFolder, resolveOptions, createPluginVariables } from '../../../core/system/index.js'
import { expandVariables, resolveValue, resolveValues, resolveWords, type ValueScope } from '../values/index.js'
import type { HookEnvironment, HookEntry, HookGroup, HookSettings } from './entries.js'

/** A hook ready to run, with all placeholders resolved. */
export interface ResolvedHook {
  command: string
  args?: string[]
  url: string
  headers: Record<string, string>
  env: Record<string, string>
  /** Working directory of its program, and base of its relative path. */
  cwd: string
  base: string
}

/** Resolves the values of a hook when it is used. Throws VT_SECRET_MISSING, VT_SECRET_REFUSED, VT_CONFIG_ENV. */
export async function resolveHook(
  { command = '', args, url = '', headers = {} }: HookEntry,
  { by, env, cwd, layer = 'user' }: HookGroup,
  { root, env: known, settings, signal }: HookEnvironment,
): Promise<ResolvedHook> {
  const adapterContext: ValueScope['adapterContext'] = {
    settings,
    env: known,
    workspace: root,
    resolveOptions: (one) => resolveOptions(settings, one),
  }
  const createScope = (field: string): ValueScope => ({
    contribution: by ?? { id: 'hooks', plugin: layer, layer, file: root, manifest: {} },
    adapterContext,
    field: `hooks.${field}`,
    signal,
  })
  const words = await resolveWords(args ?? [], createScope('args'))
  // `${NAME}` is a variable in settings only; packages declare their references.
  const expanded = by ? words : words.map((word) => expandVariables(word, createScope('args')))
  if (by) makeFolder(by.data, 0o700)
  return {
    command: (await resolveValue(command, createScope('command'))) ?? '',
    ...(args && { args: expanded }),
    url,
    headers: await resolveValues(headers, createScope('headers')),
    env: { ...(await resolveValues(env, createScope('env'))), ...(by && createPluginVariables(by.root, by.data)) },
    cwd: cwd ?? root,
    base: by?.root ?? root,
  }
}

/** Picks the blocks of the settings that hooks read. */
export const pickHookSettings = ({ web, secrets, plugins, trust }: HookSettings): HookSettings => ({
  web,
  secrets,
  plugins,
  trust,
})
