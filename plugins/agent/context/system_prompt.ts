import { platform, release } from 'node:os'
import type { Kernel } from '../../../core/kernel/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import type { AgentProviders, AgentSettings, Clock } from '../base/index.js'
import { basePrompt, modeText } from './base_prompt.js'
import { repository } from './git.js'
import { instructions, shownAs } from './instructions.js'

const mostNames = 60

/** What the model is told before the conversation; the same for the whole of a segment. The skills are told among the tools, by the one that loads them. */
export async function systemPrompt(kernel: Kernel, workspace: Workspace, written: string, { clock, env }: Pick<AgentProviders, 'clock' | 'env'>): Promise<string> {
  const sections = [basePrompt, modeText[kernel.settings.policy.mode] ?? '', await environment(workspace, clock, env), written]
  return sections.filter((section) => section !== '').join('\n\n')
}

/** What people wrote for agents, as it stands in the prompt. Throws VT_CONTEXT_INSTRUCTIONS_TOO_LARGE. */
export const writtenFor = async (workspace: Workspace, { agent }: AgentSettings, env: AgentProviders['env']): Promise<string> => shownAs(await instructions(workspace, agent, env))

async function environment(workspace: Workspace, clock: Clock, env: AgentProviders['env']): Promise<string> {
  const names = (await workspace.names('.')).filter(({ name }) => name !== '.git' && name !== '.vtcode').map(({ name, kind }) => (kind === 'directory' ? `${name}/` : name))
  const more = names.length > mostNames ? `, and ${names.length - mostNames} more` : ''
  return [
    '<environment>',
    `Working folder: ${workspace.root}`,
    `System: ${platform()} ${release()}`,
    `Date: ${new Date(clock.now()).toISOString().slice(0, 10)}`,
    ...(await repository(workspace, env)),
    `In the folder: ${names.slice(0, mostNames).join(', ') || 'nothing'}${more}`,
    '</environment>',
  ].join('\n')
}
