import type { Io, Kernel } from '../../core/index.js'
import { refusal } from '../shared/agent/faces/refusal.js'
import { columns } from '../shared/terminal.js'
import { run, verb } from '../shared/verbs.js'

/** `vtcode models`: which models can be had, what is known of one, and whether it answers. */
export default async function models(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const { entries, findModel, modelOf, modelsOf } = await import('../shared/agent/model/provider.js')
  let code = 0
  const guarded = async (what: () => unknown) => {
    try {
      await what()
    } catch (error) {
      code = refusal(kernel, error, io)
    }
  }
  const command = verb('models', 'Lists the models of the providers in your settings, says what is known of one, tries one.', io)
  command.command('list', { isDefault: true }).option('--json').action(({ json }: { json?: true }) =>
    guarded(() => {
      const all = entries(kernel).flatMap((entry) => modelsOf(entry).map((name) => modelOf(entry, name)))
      const rows = all.map(({ id, entry, format, facts }) => ({ id, provider: entry.display_name ?? entry.name, format, context_window: facts.context_window }))
      if (json) io.stdout.write(`${JSON.stringify(rows)}\n`)
      else if (rows.length === 0) io.stdout.write('No provider is configured; say one under custom_providers in ~/.vtcode/vtcode.config.yaml.\n')
      else io.stdout.write(columns(rows.map(({ id, provider, format, context_window }) => [id, provider, format, `${context_window} tokens`])))
    }),
  )
  command
    .command('describe <id>')
    .description('each fact with where it comes from')
    .action((id: string) =>
      guarded(() => {
        const { id: known, format, entry, facts, sources } = findModel(kernel, id)
        const rows = Object.entries(facts).map(([name, value]) => [name, JSON.stringify(value), sources[name] ?? ''])
        io.stdout.write(columns([['id', known, ''], ['api_format', format, ''], ['base_url', entry.base_url ?? '', ''], ...rows]))
      }),
    )
  command
    .command('check <id>')
    .description('sends one small request')
    .action((id: string) =>
      guarded(async () => {
        const { check } = await import('../shared/agent/model/check.js')
        io.stdout.write(`${JSON.stringify(await check(kernel, id, io.env, io.signal))}\n`)
      }),
    )
  return run(command, argv, () => code)
}
