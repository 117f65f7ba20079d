import { dirname } from 'node:path'
import type { Io, Kernel } from '../../../core/index.js'
import { openWorkspace } from '../../../core/workspace/index.js'
import { settingsDraft, settingsFile } from '../../lib/own_files/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { agentsText, projectSettings } from './drafts.js'
import type { Interview } from './interview.js'
import type { Plan } from './record.js'
import { readRepository } from './repository.js'
import { provingCommands, lackingRules } from './rules.js'

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
  { value: 'unset', label: 'As each verb has it', hint: 'exec: auto; everything else: ask' },
  { value: 'ask', label: 'ask', hint: 'every change is asked for' },
  { value: 'auto', label: 'auto', hint: 'changes of files in the workspace go through' },
  { value: 'plan', label: 'plan', hint: 'nothing is changed' },
]

/** The user's settings with the model, the mode and the rules; `undefined` where they say so already. */
export async function planSettings(
  kernel: Kernel,
  home: string,
  { model, rules: flag }: { model: string | undefined; rules: boolean | undefined },
  interview: Interview,
  io: Io,
): Promise<Plan['settings']> {
  const file = settingsFile(home)
  const said = kernel.inspection.origins().find(({ path }) => path === 'policy.mode')
  const mode = said?.layer === 'call' ? String(said.value) : await interview.choose('Which mode?', modes, 'unset')
  const rules = await agreedRules(kernel, home, flag, interview)
  const wanted = {
    ...(model !== undefined && { 'agent.model': model }),
    ...(mode !== 'unset' && { 'policy.mode': mode }),
    ...(rules && { [allow]: rules.now }),
  }
  const was = (path: string): unknown => (path === allow ? rules?.was : ownValue(kernel, path))
  const open = Object.entries(wanted).filter(([path, value]) => was(path) !== value)
  if (open.length === 0) return undefined
  try {
    const draft = await settingsDraft(file, Object.fromEntries(open))
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
      `${toOneLine(file)} is not changed: ${(error as Error).message}. Enter yourself: ${open.map(([path, value]) => `${path}: ${value}`).join(', ')}`,
    )
    return undefined
  }
}

const allow = 'policy.allow'

/** The rules with which the commands of this repository run unasked, once a person agreed: without a word nobody is given any. */
async function agreedRules(
  kernel: Kernel,
  home: string,
  flag: boolean | undefined,
  interview: Interview,
): Promise<{ was?: unknown[]; now: unknown[] } | undefined> {
  if (flag === false || kernel.workspace === dirname(home) || (flag === undefined && !interview.asks)) return undefined
  const workspace = openWorkspace(kernel.workspace, { home })
  try {
    const { own, missing } = await lackingRules(
      await provingCommands(await readRepository(workspace), workspace),
      settingsFile(home),
    )
    if (missing.length === 0) return undefined
    const list = missing.map((rule) => rule.slice(5, -1)).join(', ')
    if (flag !== true && !(await interview.wants(`Let these run unasked, in every folder: ${list}?`, false)))
      return undefined
    return { ...(own.length > 0 && { was: own }), now: [...own, ...missing] }
  } finally {
    workspace.close()
  }
}

/** What the user's own settings file says, whatever counts here. */
export function ownValue(kernel: Kernel, path: string): unknown {
  const origin = kernel.inspection.origins().find((one) => one.path === path)
  if (origin?.layer === 'user') return origin.value
  return origin?.overridden.find(({ layer }) => layer === 'user')?.value
}

/** The files that the repository lacks and somebody wants: only what is not there. */
export async function planFiles(
  kernel: Kernel,
  home: string,
  flags: InitFlags,
  interview: Interview,
  io: Io,
): Promise<Plan['files']> {
  // The user's home is no project.
  if (kernel.workspace === dirname(home)) return []
  const workspace = openWorkspace(kernel.workspace, { home })
  try {
    const facts = await readRepository(workspace)
    const there = new Set((await workspace.listNames('.')).map(({ name }) => name))
    const files: Plan['files'] = []
    const offer = async (name: string, taken: readonly string[], flag: boolean | undefined, text: () => string) => {
      const other = taken.find((one) => there.has(one))
      if (other !== undefined) flag && say(io, 'info', `${other} is there already and stays as it is.`)
      else if (flag ?? (facts.isProject && (await interview.wants(`Write ${name}?`, true))))
        files.push({ name, text: text() })
    }
    await offer('AGENTS.md', ['AGENTS.md'], flags.agents, () => agentsText(kernel.workspace, facts))
    await offer(
      'vtcode.config.yaml',
      ['yaml', 'yml', 'json', 'ts', 'mts', 'js', 'mjs'].map((end) => `vtcode.config.${end}`),
      flags.projectSettings,
      () => projectSettings(kernel.workspace, facts),
    )
    return files
  } finally {
    workspace.close()
  }
}
