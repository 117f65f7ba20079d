import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import type { SessionManifest } from '../agent/cli/index.js'
import {
  ago,
  asDocument,
  columns,
  documentText,
  oneLine,
  runCommand,
  say,
  verb,
  type OutputForm,
} from '../lib/terminal/index.js'

type Sessions = typeof import('../agent/cli/index.js')
type Store = Awaited<ReturnType<Sessions['openStore']>>

/** What the commands share: the workspace they look at, and the exit code they leave. */
interface SessionCommand {
  readonly kernel: Kernel
  readonly io: Io
  readonly sessions: Sessions
  code: number
}

/** `vtcode sessions`: the conversations of this workspace. */
export default async function sessions(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const here: SessionCommand = { kernel, io, sessions: await import('../agent/cli/index.js'), code: 0 }
  const command = verb(
    'sessions',
    'Lists the sessions of this workspace; shows, names, flags, fixes and deletes them. At a terminal as text, into a pipe as JSON; --json and --text choose.',
    io,
  )
  const marked = (id: string, mark: object) =>
    holding(here, id, async (store) =>
      store.write(
        'manifest.json',
        JSON.stringify({ ...(JSON.parse((await store.read('manifest.json')) ?? '{}') as object), ...mark }),
      ),
    )
  const listing = command
    .command('list', { isDefault: true })
    .option('--json')
    .option('--text')
    .option('--all', 'those of other workspaces too')
  listing.action((how: OutputForm & { all?: true }) => list(here, how))
  command
    .command('show <id>')
    .option('--json')
    .option('--text')
    .option('--certificate', 'what proved its work, for `vtcode verify`')
    .action((id: string, { certificate, ...form }: OutputForm & { certificate?: true }) =>
      certificate ? certify(here, id) : show(here, id, form),
    )
  command
    .command('rename <id> <title...>')
    .action((id: string, title: string[]) => marked(id, { title: title.join(' ').slice(0, 160) }))
  command
    .command('flag <id>')
    .addArgument(command.createArgument('<flag>').choices(['no-export']))
    .action((id: string) => marked(id, { no_export: true }))
  command
    .command('repair <id>')
    .option('--json')
    .option('--text')
    .action((id: string, form: OutputForm) =>
      holding(here, id, async (store) => {
        const cut = await here.sessions.repair(store)
        if (asDocument(io, form)) io.stdout.write(documentText({ session_id: id, damaged_lines: cut }))
        else
          io.stdout.write(
            cut === 0 ? 'The journal is whole.\n' : `${cut} damaged lines were moved to messages.bad.jsonl.\n`,
          )
      }),
    )
  command
    .command('adopt <id>')
    .description('takes over a session that came with the workspace: from then on it is one of yours')
    .action((id: string) => adopt(here, id))
  command
    .command('delete <id>')
    .action((id: string) => inWorkspace(here, (workspace) => here.sessions.removeSession(workspace, id)))
  command
    .command('gc')
    .description('deletes what is beyond the bounds of `sessions` in the settings')
    .option('--json')
    .option('--text')
    .action((form: OutputForm) =>
      inWorkspace(here, async (workspace) => {
        const gone = await here.sessions.tidy(workspace, here.sessions.agentSettings(kernel), { now: Date.now() })
        io.stdout.write(asDocument(io, form) ? documentText({ deleted: gone }) : gone.map((id) => `${id}\n`).join(''))
      }),
    )
  return runCommand(command, argv, () => here.code)
}

async function inWorkspace(here: SessionCommand, what: (workspace: Workspace) => Promise<void>): Promise<void> {
  const workspace = openWorkspace(here.kernel.workspace, here.kernel.inspection)
  try {
    await what(workspace)
  } catch (error) {
    here.code = here.sessions.printFailure(here.kernel, error, here.io)
  } finally {
    workspace.close()
  }
}

/** Holds the session while it is changed, so that nobody else uses it. */
const holding = (here: SessionCommand, id: string, what: (store: Store) => Promise<void>): Promise<void> =>
  inWorkspace(here, async (workspace) => {
    const store = await here.sessions.openStore(workspace, id, { must_exist: true })
    try {
      await what(store)
    } finally {
      await store.close()
    }
  })

const list = (here: SessionCommand, { all, ...form }: OutputForm & { all?: true }): Promise<void> =>
  inWorkspace(here, async (workspace) => {
    const { kernel, sessions, io } = here
    const found = all
      ? await sessions.listAllSessions(workspace.root, kernel.inspection.home)
      : await sessions.listSessions(workspace)
    const turns = ({ turn_count: count }: SessionManifest) => `${count} ${count === 1 ? 'turn' : 'turns'}`
    const row = (one: SessionManifest) =>
      [
        one.session_id,
        ago(one.updated_at, Date.now()),
        endOf(one),
        turns(one),
        ...(all ? [one.workspace] : []),
        one.title ?? one.first_prompt,
      ].map(oneLine)
    if (asDocument(io, form)) io.stdout.write(documentText(found))
    else io.stdout.write(found.length === 0 ? 'There are no sessions.\n' : columns(found.map(row)))
  })

/** How the last run of a session ended, for a person. */
const endOf = ({ status, outcome }: SessionManifest): string =>
  status === 'active' || status === 'interrupted'
    ? status
    : outcome === 'success'
      ? 'completed'
      : (outcome ?? status).replaceAll('_', ' ')

/** The details of a session as a person reads them. */
const shownOf = (one: SessionManifest): object => {
  const { v: _, outcome: __, created_at, updated_at, total_cost_usd, status: ___, ...rest } = one
  const cost = total_cost_usd === null ? 'not known' : `${total_cost_usd.toFixed(4)} USD`
  return {
    ...rest,
    status: endOf(one),
    created: `${ago(created_at, Date.now())} (${created_at})`,
    updated: `${ago(updated_at, Date.now())} (${updated_at})`,
    cost,
  }
}

/** The consent to a session that somebody else wrote: named by its id, and shown with what it holds. */
const adopt = (here: SessionCommand, id: string): Promise<void> =>
  inWorkspace(here, async (workspace) => {
    const { sessions, io } = here
    const one = (await sessions.listSessions(workspace)).find(({ session_id }) => session_id === id)
    if (!one) return sessions.requireOwnSession(workspace, id)
    const store = await sessions.openStore(workspace, id, { must_exist: true })
    await sessions.adoptSession(store, id).finally(() => store.close())
    await sessions.noteSession(id, workspace)
    await sessions.requireOwnSession(workspace, id)
    io.stdout.write(
      `${oneLine(`${id} is one of your sessions now; it begins with: ${one.title ?? one.first_prompt}`)}\n`,
    )
  })

const certify = (here: SessionCommand, id: string): Promise<void> =>
  inWorkspace(here, async (workspace) => {
    const { text, different } = await here.sessions.certificateOfSession(workspace, id)
    here.io.stdout.write(`${text}\n`)
    // What the commands proved is not what lies there now.
    for (const one of different) say(here.io, 'warning', `Different since the commands ran: ${oneLine(one)}`)
  })

const show = (here: SessionCommand, id: string, form: OutputForm): Promise<void> =>
  inWorkspace(here, async (workspace) => {
    const one = (await here.sessions.listSessions(workspace)).find(({ session_id }) => session_id === id)
    if (!one) await here.sessions.requireOwnSession(workspace, id)
    const { io } = here
    if (asDocument(io, form)) io.stdout.write(documentText(one ?? {}))
    else if (one)
      io.stdout.write(
        columns(
          Object.entries(shownOf(one)).map(([name, value]) => [name.replaceAll('_', ' '), oneLine(String(value))]),
        ),
      )
  })
