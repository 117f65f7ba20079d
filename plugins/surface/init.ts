import { problem, type Io, type Kernel } from '../../core/index.js'
import { printFailure } from '../agent/cli/index.js'
import { formatDifference } from '../lib/own_files/index.js'
import { isInteractive, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'
import { listClients, setUpClients } from './init/clients.js'
import { Interview, StoppedByPerson } from './init/interview.js'
import { chooseModel } from './init/model.js'
import { planFiles, planSettings, type InitFlags } from './init/plan.js'
import { planUndo, requireOwnHome, writePlan, type Plan } from './init/record.js'

/** Runs `vtcode init`, which sets up a first model. Each question is also a flag; changes are shown, then written. */
export default async function init(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'init',
    'Find keys and model servers, test a model, and write settings and AGENTS.md after showing each change.',
    io,
  )
    .option('--yes', 'accept the defaults and write')
    .option('--model <id>', 'use this model, after a test')
    .option('--no-model', 'choose no model')
    .option('--no-try', 'do not test the model')
    .option('--sign-in', "sign in if the model's provider requires it")
    .option('--agents', 'write AGENTS.md')
    .option('--no-agents')
    .option('--project-settings', 'write vtcode.config.yaml here')
    .option('--no-project-settings')
    .option('--rules', 'allow commands that build and test here without approval')
    .option('--no-rules')
    .option('--clients <names>', 'set up these MCP clients: a,b or none')
    .option('--undo', 'undo what init wrote here')
    .addHelpText('after', '--mode plan|ask|auto sets the mode; without it each verb keeps its default.')
    .action(async (flags: InitFlags & { undo?: true }) => {
      // A process that vtcode started must not change the settings of the user.
      if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
      code = await runGuarded(kernel, io, () => (flags.undo ? undoInit(kernel, flags, io) : runInit(kernel, flags, io)))
    })
  return runCommand(command, argv, () => code)
}

/** Runs `perform`. Reports that nothing was written when a person stops or an error occurs. */
async function runGuarded(kernel: Kernel, io: Io, perform: () => Promise<number>): Promise<number> {
  try {
    return await perform()
  } catch (error) {
    if (io.signal.aborted || error instanceof StoppedByPerson) {
      io.stderr.write('Stopped; nothing was written.\n')
      return 130
    }
    return printFailure(kernel, error, io)
  }
}

async function runInit(kernel: Kernel, flags: InitFlags, io: Io): Promise<number> {
  const home = kernel.inspection.home
  const interview = new Interview(io, flags.yes ?? false)
  const refused = catchMessage(() => requireOwnHome(home))
  if (refused !== undefined) return printError(io, `${refused}.`)
  const named = flags.clients
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'none')
  const known = named?.length ? (await listClients(kernel, io)).map(({ client }) => client) : []
  const unknownClient = named?.find((name) => !known.includes(name))
  if (unknownClient !== undefined)
    return printError(io, `Unknown client '${unknownClient}'; known: ${known.join(', ')}.`, 2)
  const model = await chooseModel(kernel, flags, interview, io)
  if (typeof model === 'number') return model
  const settings = await planSettings(kernel, home, { model: model.id, rules: flags.rules }, interview, io)
  const plan: Plan = { settings, files: await planFiles(kernel, home, flags, interview, io) }
  const drafts = [
    ...(settings ? [settings.draft] : []),
    ...plan.files.map(({ name, text }) => ({ file: `${kernel.workspace}/${name}`, before: undefined, after: text })),
  ]
  for (const draft of drafts) io.stdout.write(formatDifference(draft, io))
  if (drafts.length === 0) io.stdout.write('Nothing to write: your choices are set already.\n')
  else if (!(await interview.confirmWrite('Write this?'))) {
    if (interview.interactive) throw new StoppedByPerson()
    say(io, 'info', 'Nothing was written; --yes writes.')
    return 0
  } else {
    const failed = await writePlan(kernel, home, plan, io.signal).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
    if (failed !== undefined) return printError(io, `Nothing was written: ${failed.replace(/\.$/, '')}.`)
    io.stdout.write('Written. `vtcode init --undo` undoes it.\n')
  }
  const code = await setUpClients(kernel, named, interview, io)
  io.stdout.write('Next: vtcode exec "what does this project do", or vtcode for a chat.\n')
  return code
}

async function undoInit(kernel: Kernel, { yes }: InitFlags, io: Io): Promise<number> {
  const plan = await planUndo(kernel, kernel.inspection.home)
  if (!plan) {
    io.stdout.write('init wrote nothing here.\n')
    return 0
  }
  for (const draft of plan.drafts) io.stdout.write(formatDifference(draft, io))
  for (const file of plan.kept) say(io, 'warning', `${toOneLine(file)} was changed since; init leaves it unchanged.`)
  const interview = new Interview(io, yes ?? false)
  if (!(await interview.confirmWrite('Undo this?'))) {
    if (!interview.interactive) say(io, 'info', 'Nothing was written; --yes writes.')
    return isInteractive(io) ? 1 : 0
  }
  const failed = await plan.perform(io.signal).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  )
  if (failed !== undefined) return printError(io, `Not undone: ${failed.replace(/\.$/, '')}.`)
  io.stdout.write('Undone. For clients, use `vtcode setup <client> --undo`.\n')
  return 0
}

function printError(io: Io, text: string, code = 1): number {
  say(io, 'error', toOneLine(text))
  return code
}

function catchMessage(what: () => void): string | undefined {
  try {
    what()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
