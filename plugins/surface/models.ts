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

/** Runs `vtcode models`: lists the available models, describes one or tries one. */
export default async function models(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const runReported = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      code = io.signal.aborted ? 130 : printFailure(kernel, error, io)
    }
  }
  const command = createVerb(
    'models',
    'List the models of the providers in your settings, describe one, try one. The output is text at a terminal ' +
      'and JSON into a pipe; --json and --text choose.',
    io,
  )
  command
    .command('list', { isDefault: true })
    .option('--json')
    .option('--text')
    .action((form: OutputForm) => runReported(() => printModels(kernel, shouldPrintJson(io, form), io)))
  command
    .command('describe <id>')
    .description('Show each fact with its source.')
    .option('--json')
    .option('--text')
    .action((id: string, form: OutputForm) => runReported(() => printModel(kernel, id, shouldPrintJson(io, form), io)))
  command
    .command('check <id>')
    .description('Send one small request.')
    .option('--json')
    .option('--text')
    .action((id: string, form: OutputForm) =>
      runReported(async () => {
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
    .description('Sign in to a provider whose auth is oauth; --forget signs out.')
    .option('--forget')
    .action((name: string, { forget }: { forget?: true }) =>
      runReported(() => login(kernel, name, forget ?? false, io)),
    )
  return runCommand(command, argv, () => code)
}

async function printModels(kernel: Kernel, json: boolean, io: Io): Promise<void> {
  const { listModels, listIgnoredModels, chooseComponents } = await import('../agent/cli/index.js')
  const { models, without_key, faults } = await listModels(
    kernel,
    await chooseComponents({ kernel, env: io.env }),
    io.signal,
  )
  for (const fault of new Set([...faults, ...listIgnoredModels(kernel, io.env)])) say(io, 'warning', fault)
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
      'No model is available: set a key below, or name a server under custom_providers in ' +
        '~/.vtcode/vtcode.config.yaml.\n',
    )
  if (without_key.length > 0 && !io.quiet)
    io.stderr.write(
      `Available with a key: ${without_key.map(({ name, variable }) => `${name} (${variable})`).join(', ')}.\n`,
    )
}

async function printModel(kernel: Kernel, id: string, json: boolean, io: Io): Promise<void> {
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
  const [{ createSignIn }, { signIn, signOut }, { chooseComponents }] = await Promise.all([
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
  ])
  const signInTarget = await createSignIn(kernel, name, await chooseComponents({ kernel, env: io.env }))
  if (forget)
    return void io.stderr.write(
      signOut(signInTarget) ? `Signed out of ${name}.\n` : `You are not signed in to ${name}.\n`,
    )
  await signIn(signInTarget, kernel.workspace, io.signal)
  io.stderr.write(`Signed in to ${name}.\n`)
}
