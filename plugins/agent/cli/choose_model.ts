import type { Io, Kernel } from '../../../core/contract/index.js'
import { formatDifference, draftSettings, findSettingsFile, writeDraft } from '../../lib/own_files/index.js'
import { isInteractive, toOneLine, pickOne, say } from '../../lib/terminal/index.js'
import { resolveAgentSettings, toErrorMessage } from '../base/index.js'
import { chooseComponents } from '../components/index.js'
import { suggestModels } from '../model/index.js'
import { listModelChoices, type Model } from '../providers/index.js'

/**
 * Asks the person at the terminal for a model if none is set and several providers are usable, and saves the answer
 * in the settings. Without any, uses a server on this machine.
 * Returns `undefined` if there is no question, no person or no answer.
 */
export async function pickModel(kernel: Kernel, io: Io): Promise<string | undefined> {
  // A program that vtcode started chooses nothing for the user.
  if (io.env['VTCODE'] === '1') return undefined
  if ((io.env['VTCODE_MODEL'] ?? resolveAgentSettings(kernel).agent.model) !== undefined) return undefined
  const choices = listModelChoices(kernel, io.env)
  if (choices.length === 0) return findLocalModel(kernel, io)
  if (!isInteractive(io) || new Set(choices.map(({ entry }) => entry.name)).size < 2) return undefined
  const id = await pickOne(
    io,
    'Which model?',
    choices.map((model) => ({ value: model.id, label: model.id, hint: describeModel(model) })),
  )
  // A provider of the workspace is not known elsewhere.
  if (id !== undefined && choices.find((model) => model.id === id)!.source.from.layer !== 'workspace')
    await saveModel(id, kernel, io)
  return id
}

/**
 * Finds a model of a server on this machine, for a user who set up no other model. Such a server needs no entry in the
 * settings and no key.
 */
async function findLocalModel(kernel: Kernel, io: Io): Promise<string | undefined> {
  const { models } = await suggestModels(kernel, await chooseComponents({ kernel, env: io.env }), io.signal)
  const ids = models.filter(({ source }) => source.builtin).map(({ id }) => id)
  const count = ids.length === 1 ? '1 model' : `${ids.length} models`
  const name = toOneLine(ids[0] ?? '')
  if (name !== '')
    say(io, 'info', `Using ${name} of a server on this machine (${count}); \`vtcode init\` chooses and keeps a model.`)
  return ids[0]
}

/** Describes a model for a person who picks one: window and prices. */
export function describeModel({ facts: { context_window, cost }, sources }: Model): string {
  const window = sources['context_window'] === 'assumed' ? [] : [`${Math.round(context_window! / 1000)}k tokens`]
  return [...window, ...(cost ? [`${cost.input} / ${cost.output} USD per million`] : [])].join(', ')
}

async function saveModel(id: string, { inspection: { home } }: Kernel, io: Io): Promise<void> {
  const file = findSettingsFile(home)
  try {
    const draft = await draftSettings(file, { 'agent.model': id })
    io.stderr.write(formatDifference(draft, { ...io, stdout: io.stderr }))
    writeDraft(draft)
  } catch (error) {
    say(
      io,
      'warning',
      `Cannot change '${toOneLine(file)}': ${toErrorMessage(error)}. ` +
        `To keep the choice, add this line to the file: agent: { model: ${id} }`,
    )
  }
}
