import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import { printFailure, type SessionManifest } from '../agent/cli/index.js'
import { columns, oneLine, run, verb } from '../lib/terminal/index.js'

/** `vtcode sessions`: the conversations of this workspace. */
export default async function sessions(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const [{ listSessions }, { allSessions, findSession }, { tidy, removeSession }, { repair }, { openStore }, { agentSettings }] = await Promise.all([
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
    import('../agent/cli/index.js'),
  ])
  let code = 0
  const within = async (what: (workspace: Workspace) => Promise<void>) => {
    const workspace = openWorkspace(kernel.workspace)
    try {
      await what(workspace)
    } catch (error) {
      code = printFailure(kernel, error, io)
    } finally {
      workspace.close()
    }
  }
  /** Holds the session while it is changed, so that nobody else uses it. */
  const holding = (id: string, what: (store: Awaited<ReturnType<typeof openStore>>) => Promise<void>) =>
    within(async (workspace) => {
      const store = await openStore(workspace, id, { must_exist: true })
      try {
        await what(store)
      } finally {
        await store.close()
      }
    })
  const command = verb('sessions', 'Lists the sessions of this workspace; shows, names, flags, mends and deletes them.', io)
  const list = command.command('list', { isDefault: true }).option('--json').option('--all', 'those of other workspaces too')
  list.action(({ json, all }: { json?: true; all?: true }) =>
    within(async (workspace) => {
      const found = all ? await allSessions(workspace.root, io.env) : await listSessions(workspace)
      const turns = ({ turn_count: count }: SessionManifest) => `${count} ${count === 1 ? 'turn' : 'turns'}`
      const row = (one: SessionManifest) => [one.session_id, one.updated_at, one.status, turns(one), ...(all ? [one.workspace] : []), one.title ?? one.first_prompt].map(oneLine)
      if (json) io.stdout.write(`${JSON.stringify(found)}\n`)
      else io.stdout.write(found.length === 0 ? 'There are no sessions.\n' : columns(found.map(row)))
    }),
  )
  command.command('show <id>').option('--json', 'as it is printed anyway').action((id: string) =>
    within(async (workspace) => {
      const one = (await listSessions(workspace)).find(({ session_id }) => session_id === id)
      if (!one) await findSession(workspace, id, io.env)
      io.stdout.write(`${JSON.stringify(one ?? {})}\n`)
    }),
  )
  const marked = (id: string, mark: object) =>
    holding(id, async (store) => store.write('manifest.json', JSON.stringify({ ...(JSON.parse((await store.read('manifest.json')) ?? '{}') as object), ...mark })))
  command.command('rename <id> <title...>').action((id: string, title: string[]) => marked(id, { title: title.join(' ').slice(0, 160) }))
  command.command('flag <id>').addArgument(command.createArgument('<flag>').choices(['no-export'])).action((id: string) => marked(id, { no_export: true }))
  command.command('repair <id>').option('--json').action((id: string, { json }: { json?: true }) =>
    holding(id, async (store) => {
      const cut = await repair(store)
      if (json) io.stdout.write(`${JSON.stringify({ session_id: id, damaged_lines: cut })}\n`)
      else io.stdout.write(cut === 0 ? 'The journal is whole.\n' : `${cut} damaged lines were moved to messages.bad.jsonl.\n`)
    }),
  )
  command.command('delete <id>').action((id: string) =>
    within((workspace) => removeSession(workspace, id)),
  )
  command.command('gc').description('deletes what is beyond the bounds of `sessions` in the settings').option('--json').action(({ json }: { json?: true }) =>
    within(async (workspace) => {
      const gone = await tidy(workspace, agentSettings(kernel), Date.now())
      io.stdout.write(json ? `${JSON.stringify({ deleted: gone })}\n` : gone.map((id) => `${id}\n`).join(''))
    }),
  )
  return run(command, argv, () => code)
}
