import { createHash } from 'node:crypto'
import { platform, release } from 'node:os'
import type { Kernel, Workspace } from '../../../../core/index.js'
import type { AgentProviders, Clock } from '../dictionary.js'
import type { AgentSettings } from '../settings.js'
import { basePrompt, modeText } from './base.js'
import { instructions, shownAs } from './instructions.js'

const mostNames = 60

/** What the model is told before the conversation; the same for the whole of a segment. */
export async function systemPrompt(kernel: Kernel, workspace: Workspace, settings: AgentSettings, { clock, env }: Pick<AgentProviders, 'clock' | 'env'>): Promise<string> {
  const written = shownAs(await instructions(workspace, settings.agent, env))
  const sections = [basePrompt, modeText[kernel.settings.policy.mode] ?? '', await environment(workspace, clock), written]
  return sections.filter((section) => section !== '').join('\n\n')
}

async function environment(workspace: Workspace, clock: Clock): Promise<string> {
  const names = (await workspace.names('.')).filter(({ name }) => name !== '.git' && name !== '.vtcode').map(({ name, kind }) => (kind === 'directory' ? `${name}/` : name))
  const more = names.length > mostNames ? `, and ${names.length - mostNames} more` : ''
  const head = await workspace.text('.git/HEAD', { max_bytes: 1024 }).catch(() => '')
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  return [
    '<environment>',
    `Working folder: ${workspace.root}`,
    `System: ${platform()} ${release()}`,
    `Date: ${new Date(clock.now()).toISOString().slice(0, 10)}`,
    ...(branch ? [`Git branch: ${branch}`] : []),
    `In the folder: ${names.slice(0, mostNames).join(', ') || 'nothing'}${more}`,
    '</environment>',
  ].join('\n')
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
