import { problem, type Io, type Kernel } from '../../core/index.js'
import { printFailure } from '../agent/cli/index.js'
import { difference } from '../lib/own_files/index.js'
import { isInteractive, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'
import { seenClients, setUpClients } from './init/clients.js'
import { Interview, StoppedByPerson } from './init/interview.js'
import { chooseModel } from './init/model.js'
import { planFiles, planSettings, type InitFlags } from './init/plan.js'
import { planUndo, requireOwnHome, writePlan, type Plan } from './init/record.js'

/** `vtcode init`: from nothing to a first answer; each question is a flag too, and nothing is written that was not shown. */
export default async function init(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'init',
    'Finds keys and model servers, tries a model, and writes settings and AGENTS.md, showing each first.',
    io,
  )
    .option('--yes', 'take the defaults and write')
    .option('--model <id>', 'the model; it is tried')
    .option('--no-model', 'choose no model')
    .option('--no-try', 'send the model nothing')
    .option('--sign-in', "sign in where the model's provider wants it")
    .option('--agents', 'write AGENTS.md')
    .option('--no-agents')
    .option('--project-settings', 'write vtcode.config.yaml here')
    .option('--no-project-settings')
    .option('--rules', 'let the commands that build and test here run unasked')
    .option('--no-rules')
    .option('--clients <names>', 'set up these MCP clients: a,b or none')
    .option('--undo', 'take back what init wrote here')
    .addHelpText('after', '--mode plan|ask|auto is the mode; without it each verb keeps its own.')
    .action(async (flags: InitFlags & { undo?: true }) => {
      // What vtcode started decides nothing for the user.
      if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
      code = await guarded(kernel, io, () => (flags.undo ? takeBack(kernel, flags, io) : setUp(kernel, flags, io)))
    })
  return runCommand(command, argv, () => code)
}

/** A person who stops, and what cannot be done, end with a word on what was written: nothing. */
async function guarded(kernel: Kernel, io: Io, perform: () => Promise<number>): Promise<number> {
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

async function setUp(kernel: Kernel, flags: InitFlags, io: Io): Promise<number> {
  const home = kernel.inspection.home
  const interview = new Interview(io, flags.yes ?? false)
  const refused = attempt(() => requireOwnHome(home))
  if (refused !== undefined) return fail(io, `${refused}.`)
  const named = flags.clients
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'none')
  const known = named?.length ? (await seenClients(kernel, io)).map(({ client }) => client) : []
  const strange = named?.find((name) => !known.includes(name))
  if (strange !== undefined) return fail(io, `Unknown client '${strange}'; known: ${known.join(', ')}.`, 2)
  const model = await chooseModel(kernel, flags, interview, io)
  if (typeof model === 'number') return model
  const settings = await planSettings(kernel, home, { model: model.id, rules: flags.rules }, interview, io)
  const plan: Plan = { settings, files: await planFiles(kernel, home, flags, interview, io) }
  const drafts = [
    ...(settings ? [settings.draft] : []),
    ...plan.files.map(({ name, text }) => ({ file: `${kernel.workspace}/${name}`, before: undefined, after: text })),
  ]
  for (const draft of drafts) io.stdout.write(difference(draft, io))
  if (drafts.length === 0) io.stdout.write('There is nothing to write: what you chose is set already.\n')
  else if (!(await interview.agrees('Write this?'))) {
    if (interview.asks) throw new StoppedByPerson()
    say(io, 'info', 'Nothing was written; --yes writes.')
    return 0
  } else {
    const failed = await writePlan(kernel, home, plan, io.signal).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
    if (failed !== undefined) return fail(io, `Nothing was written: ${failed.replace(/\.$/, '')}.`)
    io.stdout.write('Written. `vtcode init --undo` takes it back.\n')
  }
  const code = await setUpClients(kernel, named, interview, io)
  io.stdout.write('Next: vtcode exec "what does this project do", or vtcode for a chat.\n')
  return code
}

async function takeBack(kernel: Kernel, { yes }: InitFlags, io: Io): Promise<number> {
  const plan = await planUndo(kernel, kernel.inspection.home)
  if (!plan) {
    io.stdout.write('init wrote nothing here.\n')
    return 0
  }
  for (const draft of plan.drafts) io.stdout.write(difference(draft, io))
  for (const file of plan.kept) say(io, 'warning', `${toOneLine(file)} was changed since; what init wrote there stays.`)
  const interview = new Interview(io, yes ?? false)
  if (!(await interview.agrees('Take it back?'))) {
    if (!interview.asks) say(io, 'info', 'Nothing was written; --yes writes.')
    return isInteractive(io) ? 1 : 0
  }
  const failed = await plan.perform(io.signal).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  )
  if (failed !== undefined) return fail(io, `Not taken back: ${failed.replace(/\.$/, '')}.`)
  io.stdout.write('Taken back. Clients: `vtcode setup <client> --undo`.\n')
  return 0
}

function fail(io: Io, text: string, code = 1): number {
  say(io, 'error', toOneLine(text))
  return code
}

function attempt(what: () => void): string | undefined {
  try {
    what()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
