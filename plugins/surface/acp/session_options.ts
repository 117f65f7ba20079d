import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk'
import { MODES } from '../../../core/config/index.js'
import type { Kernel, Mode } from '../../../core/index.js'
import { listModelChoices } from '../../agent/cli/index.js'
import type { Agent } from '../../agent/index.js'

export const EFFORTS = ['minimal', 'low', 'medium', 'high'] as const
export type Effort = (typeof EFFORTS)[number]

const MODE_TEXTS: Readonly<Record<Mode, string>> = {
  plan: 'Reads and plans; changes nothing.',
  ask: 'Asks before each change and command.',
  auto: 'Changes files of the workspace; asks for the rest unless a rule allows it.',
  'full-auto': 'Asks for nothing that the settings allow.',
}

/** Lists the modes that the settings permit. */
export const listModes = (kernel: Kernel): Mode[] =>
  MODES.filter((mode) => kernel.inspection.resolveMode(mode) === mode)

export const describeModes = (kernel: Kernel, { mode }: Agent): SessionModeState => ({
  currentModeId: mode,
  availableModes: listModes(kernel).map((id) => ({ id, name: id, description: MODE_TEXTS[id] })),
})

/** Lists the models whose key is known, with the model in use. */
export function listModelIds(kernel: Kernel, env: Record<string, string | undefined>, used: string): string[] {
  return [...new Set([used, ...listModelChoices(kernel, env).map(({ id }) => id)])]
}

export function describeOptions(
  kernel: Kernel,
  {
    agent,
    model = agent.model,
    effort,
    env,
  }: {
    agent: Agent
    /** The model that the next turn uses. */
    model: string | undefined
    effort: Effort | undefined
    env: Record<string, string | undefined>
  },
): SessionConfigOption[] {
  return [
    {
      type: 'select',
      id: 'mode',
      name: 'Mode',
      category: 'mode',
      currentValue: agent.mode,
      options: listModes(kernel).map((value) => ({ value, name: value, description: MODE_TEXTS[value] })),
    },
    {
      type: 'select',
      id: 'model',
      name: 'Model',
      category: 'model',
      currentValue: model,
      options: listModelIds(kernel, env, agent.model).map((value) => ({ value, name: value })),
    },
    {
      type: 'select',
      id: 'thought_level',
      name: 'Thought level',
      category: 'thought_level',
      currentValue: effort ?? 'default',
      options: ['default', ...EFFORTS].map((value) => ({ value, name: value })),
    },
  ]
}
