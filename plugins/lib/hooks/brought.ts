import { makeFolder, optionsOf, pluginVariables } from '../../../core/system/index.js'
import { expandVariables, resolveValue, resolveValues, resolveWords, type ValueScope } from '../values/index.js'
import type { HookEnvironment, HookEntry, HookGroup, HookSettings } from './entries.js'

/** A hook that can be run: every place for a value is filled. */
export interface ResolvedHook {
  command: string
  args?: string[]
  url: string
  headers: Record<string, string>
  env: Record<string, string>
  /** Where its program runs, and where a relative path of it begins. */
  cwd: string
  base: string
}

/** Looks up what a hook waits for, now that it is used. Throws VT_SECRET_MISSING, VT_SECRET_REFUSED, VT_CONFIG_ENV. */
export async function resolveHook(
  { command = '', args, url = '', headers = {} }: HookEntry,
  { by, env, cwd, layer = 'user' }: HookGroup,
  { root, env: known, settings, signal }: HookEnvironment,
): Promise<ResolvedHook> {
  const adapterContext: ValueScope['adapterContext'] = {
    settings,
    env: known,
    workspace: root,
    optionsOf: (one) => optionsOf(settings, one),
  }
  const createScope = (field: string): ValueScope => ({
    contribution: by ?? { id: 'hooks', plugin: layer, layer, file: root, manifest: {} },
    adapterContext,
    field: `hooks.${field}`,
    signal,
  })
  const words = await resolveWords(args ?? [], createScope('args'))
  // In the settings `${NAME}` is a variable; a package has said what its texts mean.
  const expanded = by ? words : words.map((word) => expandVariables(word, createScope('args')))
  if (by) makeFolder(by.data, 0o700)
  return {
    command: (await resolveValue(command, createScope('command'))) ?? '',
    ...(args && { args: expanded }),
    url,
    headers: await resolveValues(headers, createScope('headers')),
    env: { ...(await resolveValues(env, createScope('env'))), ...(by && pluginVariables(by.root, by.data)) },
    cwd: cwd ?? root,
    base: by?.root ?? root,
  }
}

/** Returns the blocks of the settings that hooks read. */
export const pickHookSettings = ({ web, secrets, plugins, trust }: HookSettings): HookSettings => ({
  web,
  secrets,
  plugins,
  trust,
})
