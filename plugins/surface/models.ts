import type { Io, Kernel } from '../../core/index.js'
import { printFailure } from '../agent/cli/index.js'
import {
  shouldPrintJson,
  formatColumns,
  formatDocument,
  printable,
  runCommand,
  say,
  createVerb,
  type OutputForm,
} from '../lib/terminal/index.js'

/** `vtcode models`: which models can be had, what is known of one, and whether it answers. */
export default async function models(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const guarded = async (what: () => Promise<void>) => {
    try {
      await what()
    } catch (error) {
      code = io.signal.aborted ? 130 : printFailure(kernel, error, io)
    }
  }
  const command = createVerb(
    'models',
    'Lists the models of the providers in your settings, describes one, tries one. At a terminal as text, into a pipe as JSON; --json and --text choose.',
    io,
  )
  command
    .command('list', { isDefault: true })
    .option('--json')
    .option('--text')
    .action((form: OutputForm) => guarded(() => list(kernel, shouldPrintJson(io, form), io)))
  command
    .command('describe <id>')
    .description('each fact with where it comes from')
    .option('--json')
    .option('--text')
    .action((id: string, form: OutputForm) => guarded(() => describe(kernel, id, shouldPrintJson(io, form), io)))
  command
    .command('check <id>')
    .description('sends one small request')
    .option('--json')
    .option('--text')
    .action((id: string, form: OutputForm) =>
      guarded(async () => {
        const { checkModel } = await import('../agent/cli/index.js')
        const found = await checkModel(kernel, id, io.env, io.signal)
        io.stdout.write(
          shouldPrintJson(io, form)
            ? formatDocument(found)
            : formatColumns(
                Object.entries(found).map(([name, value]) => [
                  name,
                  typeof value === 'string' ? value : JSON.stringify(value),
                ]),
              ),
        )
      }),
    )
  command
    .command('login <provider>')
    .description('signs in to a provider whose auth is oauth; --forget signs out')
    .option('--forget')
    .action((name: string, { forget }: { forget?: true }) => guarded(() => login(kernel, name, forget ?? false, io)))
  return runCommand(command, argv, () => code)
}

async function list(kernel: Kernel, json: boolean, io: Io): Promise<void> {
  const { listModels, uncountedModels, chooseComponents } = await import('../agent/cli/index.js')
  const { models, without_key, faults } = await listModels(
    kernel,
    await chooseComponents({ kernel, env: io.env }),
    io.signal,
  )
  for (const fault of new Set([...faults, ...uncountedModels(kernel, io.env)])) say(io, 'warning', fault)
  const rows = models.map(({ id, display_name, format, facts }) => ({
    id,
    provider: display_name,
    format,
    context_window: facts.context_window,
  }))
  if (json) return void io.stdout.write(formatDocument(rows))
  io.stdout.write(
    printable(
      formatColumns(
        rows.map(({ id, provider, format, context_window }) => [id, provider, format, `${context_window} tokens`]),
      ),
    ),
  )
  if (rows.length === 0)
    io.stderr.write(
      'No model is available: set a key below, or name a server under custom_providers in ~/.vtcode/vtcode.config.yaml.\n',
    )
  if (without_key.length > 0 && !io.quiet)
    io.stderr.write(
      `With a key also: ${without_key.map(({ name, variable }) => `${name} (${variable})`).join(', ')}.\n`,
    )
}

async function describe(kernel: Kernel, id: string, json: boolean, io: Io): Promise<void> {
  const { findModel } = await import('../agent/cli/index.js')
  const { id: known, display_name, format, entry, facts, sources, source } = findModel(kernel, io.env, id)
  const head = {
    id: known,
    provider: display_name,
    said_by: source.from.file,
    api_format: format,
    base_url: entry.base_url ?? '',
  }
  if (json)
    return void io.stdout.write(
      formatDocument({
        ...head,
        facts: Object.fromEntries(
          Object.entries(facts).map(([name, value]) => [name, { value, source: sources[name] }]),
        ),
      }),
    )
  const rows = Object.entries(facts).map(([name, value]) => [name, JSON.stringify(value), sources[name] ?? ''])
  io.stdout.write(
    printable(formatColumns([...Object.entries(head).map(([name, value]) => [name, value, '']), ...rows])),
  )
}

async function login(kernel: Kernel, name: string, forget: boolean, io: Io): Promise<void> {
  const [{ signInOf }, { signIn, signOut }, { chooseComponents }] = await Promise.all([
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
  ])
  const way = await signInOf(kernel, name, await chooseComponents({ kernel, env: io.env }))
  if (forget)
    return void io.stderr.write(signOut(way) ? `Signed out of ${name}.\n` : `Nobody is signed in to ${name}.\n`)
  await signIn(way, kernel.workspace, io.signal)
  io.stderr.write(`Signed in to ${name}.\n`)
}
