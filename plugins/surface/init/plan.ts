import { dirname, relative } from 'node:path'
import type { Io, Kernel } from '../../../core/index.js'
import { WORKSPACE_PLACES } from '../../../core/config/index.js'
import { openWorkspace } from '../../../core/workspace/index.js'
import { draftSettings, findSettingsFile } from '../../lib/own_files/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { renderAgentsFile, renderProjectSettings } from './drafts.js'
import type { Interview } from './interview.js'
import type { Plan } from './record.js'
import { readRepository } from './repository.js'
import { findCheckCommands, findMissingRules } from './rules.js'

export interface InitFlags {
  yes?: true
  /** `false`: none. */
  model?: string | false
  try?: false
  signIn?: boolean
  agents?: boolean
  projectSettings?: boolean
  rules?: boolean
  clients?: string
}

const modes = [
  { value: 'unset', label: 'Default of each verb', hint: 'exec: auto; everything else: ask' },
  { value: 'ask', label: 'ask', hint: 'every change needs approval' },
  { value: 'auto', label: 'auto', hint: 'changes of files in the workspace need no approval' },
  { value: 'plan', label: 'plan', hint: 'nothing is changed' },
]

/** Plans the user's settings with model, mode and rules; `undefined` if they are set already. */
export async function planSettings(
  kernel: Kernel,
  home: string,
  { model, rules: flag }: { model: string | undefined; rules: boolean | undefined },
  interview: Interview,
  io: Io,
): Promise<Plan['settings']> {
  const file = findSettingsFile(home)
  const origin = kernel.inspection.origins().find(({ path }) => path === 'policy.mode')
  const mode = origin?.layer === 'call' ? String(origin.value) : await interview.choose('Which mode?', modes, 'unset')
  const rules = await chooseRules(kernel, home, flag, interview)
  const wanted = {
    ...(model !== undefined && { 'agent.model': model }),
    ...(mode !== 'unset' && { 'policy.mode': mode }),
    ...(rules && { [ALLOW_KEY]: rules.now }),
  }
  const was = (path: string): unknown => (path === ALLOW_KEY ? rules?.was : readUserSetting(kernel, path))
  const open = Object.entries(wanted).filter(([path, value]) => was(path) !== value)
  if (open.length === 0) return undefined
  try {
    const draft = await draftSettings(file, Object.fromEntries(open))
    return {
      draft,
      keys: Object.fromEntries(
        open.map(([path, now]) => [path, { ...(was(path) !== undefined && { was: was(path) }), now }]),
      ),
    }
  } catch (error) {
    say(
      io,
      'warning',
      `${toOneLine(file)} is not changed: ${(error as Error).message}. ` +
        `Enter yourself: ${open.map(([path, value]) => `${path}: ${value}`).join(', ')}`,
    )
    return undefined
  }
}

const ALLOW_KEY = 'policy.allow'

/** Returns the rules that allow the commands of this repository, if a person or --rules agrees. */
async function chooseRules(
  kernel: Kernel,
  home: string,
  flag: boolean | undefined,
  interview: Interview,
): Promise<{ was?: unknown[]; now: unknown[] } | undefined> {
  if (flag === false || kernel.workspace === dirname(home) || (flag === undefined && !interview.interactive))
    return undefined
  const workspace = openWorkspace(kernel.workspace, { home })
  try {
    const { own, missing } = await findMissingRules(
      await findCheckCommands(await readRepository(workspace), workspace),
      findSettingsFile(home),
    )
    if (missing.length === 0) return undefined
    const list = missing.map((rule) => rule.slice(5, -1)).join(', ')
    if (flag !== true && !(await interview.confirm(`Allow these without approval, in every folder: ${list}?`, false)))
      return undefined
    return { ...(own.length > 0 && { was: own }), now: [...own, ...missing] }
  } finally {
    workspace.close()
  }
}

/** Returns the value in the user's own settings file, even if another layer overrides it. */
export function readUserSetting(kernel: Kernel, path: string): unknown {
  const origin = kernel.inspection.origins().find((one) => one.path === path)
  if (origin?.layer === 'user') return origin.value
  return origin?.overridden.find(({ layer }) => layer === 'user')?.value
}

/** Plans the files that the repository lacks and the user wants. */
export async function planFiles(
  kernel: Kernel,
  home: string,
  flags: InitFlags,
  interview: Interview,
  io: Io,
): Promise<Plan['files']> {
  // The home folder of the user is no project.
  if (kernel.workspace === dirname(home)) return []
  const workspace = openWorkspace(kernel.workspace, { home })
  try {
    const facts = await readRepository(workspace)
    const existing = new Set((await workspace.listNames('.')).map(({ name }) => name))
    if (existing.has('.config'))
      for (const { name } of await workspace.listNames('.config')) existing.add(`.config/${name}`)
    // Most packages have no settings in their package.json.
    const used = new Set(kernel.inspection.origins().map(({ file }) => relative(kernel.workspace, file)))
    const places = WORKSPACE_PLACES.filter((place) => place !== 'package.json' || used.has(place))
    const files: Plan['files'] = []
    const offer = async (name: string, taken: readonly string[], flag: boolean | undefined, text: () => string) => {
      const other = taken.find((one) => existing.has(one))
      if (other !== undefined) flag && say(io, 'info', `${other} exists already and stays unchanged.`)
      else if (flag ?? (facts.isProject && (await interview.confirm(`Write ${name}?`, true))))
        files.push({ name, text: text() })
    }
    await offer('AGENTS.md', ['AGENTS.md'], flags.agents, () => renderAgentsFile(kernel.workspace, facts))
    await offer('vtcode.config.yaml', places, flags.projectSettings, () =>
      renderProjectSettings(kernel.workspace, facts),
    )
    return files
  } finally {
    workspace.close()
  }
}
