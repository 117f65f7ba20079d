import type { Io, Kernel } from '../../../core/contract/index.js'
import { difference, settingsDraft, settingsFile, writeDraft } from '../../lib/own_files/index.js'
import { isInteractive, toOneLine, pickOne, say } from '../../lib/terminal/index.js'
import { agentSettings, messageOf } from '../base/index.js'
import { modelChoices, type Model } from '../providers/index.js'

/**
 * The model that a person at the terminal picks where nobody has said one and several providers can be asked; their settings keep it. `undefined`
 * where there is nothing to ask, nobody to ask, or no answer.
 */
export async function pickedModel(kernel: Kernel, io: Io): Promise<string | undefined> {
  // What vtcode started chooses nothing for the user.
  if (io.env['VTCODE'] === '1') return undefined
  if ((io.env['VTCODE_MODEL'] ?? agentSettings(kernel).agent.model) !== undefined || !isInteractive(io))
    return undefined
  const choices = modelChoices(kernel, io.env)
  if (new Set(choices.map(({ entry }) => entry.name)).size < 2) return undefined
  const id = await pickOne(
    io,
    'Which model?',
    choices.map((model) => ({ value: model.id, label: model.id, hint: aboutModel(model) })),
  )
  // What a repository brings is known in it alone.
  if (id !== undefined && choices.find((model) => model.id === id)!.source.from.layer !== 'workspace')
    await keepModel(id, kernel, io)
  return id
}

/** What a person who picks a model wants to know of it. */
export function aboutModel({ facts: { context_window, cost }, sources }: Model): string {
  const window = sources['context_window'] === 'assumed' ? [] : [`${Math.round(context_window! / 1000)}k tokens`]
  return [...window, ...(cost ? [`${cost.input} / ${cost.output} USD per million`] : [])].join(', ')
}

async function keepModel(id: string, { inspection: { home } }: Kernel, io: Io): Promise<void> {
  const file = settingsFile(home)
  try {
    const draft = await settingsDraft(file, { 'agent.model': id })
    io.stderr.write(difference(draft, { ...io, stdout: io.stderr }))
    writeDraft(draft)
  } catch (error) {
    say(
      io,
      'warning',
      `${toOneLine(file)} is not changed: ${messageOf(error)}. To keep the choice, say it there: agent: { model: ${id} }`,
    )
  }
}
