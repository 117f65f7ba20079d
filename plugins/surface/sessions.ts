import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import { redactText } from '../../core/text/index.js'
import type { SessionManifest } from '../agent/cli/index.js'
import {
  formatAge,
  shouldPrintJson,
  formatColumns,
  formatDocument,
  toOneLine,
  runCommand,
  say,
  createVerb,
  type OutputForm,
} from '../lib/terminal/index.js'

type Sessions = typeof import('../agent/cli/index.js')
type Store = Awaited<ReturnType<Sessions['openStore']>>

/** Context of the commands, and their exit code. */
interface SessionCommand {
  readonly kernel: Kernel
  readonly io: Io
  readonly sessions: Sessions
  code: number
}

/** `vtcode sessions`: manages the sessions of this workspace. */
export default async function sessions(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const here: SessionCommand = { kernel, io, sessions: await import('../agent/cli/index.js'), code: 0 }
  const command = createVerb(
    'sessions',
    'List the sessions of this workspace; show, rename, flag, repair and delete them. ' +
      'Prints text to a terminal and JSON to a pipe; --json and --text choose.',
    io,
  )
  const updateManifest = (id: string, mark: object) =>
    withStore(here, id, async (store) =>
      store.write(
        'manifest.json',
        JSON.stringify({ ...(JSON.parse((await store.read('manifest.json')) ?? '{}') as object), ...mark }),
      ),
    )
  const listing = command
    .command('list', { isDefault: true })
    .option('--json')
    .option('--text')
    .option('--all', 'also sessions of other workspaces')
  listing.action((how: OutputForm & { all?: true }) => listAll(here, how))
  command
    .command('show <id>')
    .option('--json')
    .option('--text')
    .option('--certificate', 'print the certificate of its work, for `vtcode verify`')
    .action((id: string, { certificate, ...form }: OutputForm & { certificate?: true }) =>
      certificate ? printCertificate(here, id) : showSession(here, id, form),
    )
  command
    .command('rename <id> <title...>')
    .action((id: string, title: string[]) => updateManifest(id, { title: redactText(title.join(' ')).slice(0, 160) }))
  command
    .command('flag <id>')
    .addArgument(command.createArgument('<flag>').choices(['no-export']))
    .action((id: string) => updateManifest(id, { no_export: true }))
  command
    .command('repair <id>')
    .option('--json')
    .option('--text')
    .action((id: string, form: OutputForm) =>
      withStore(here, id, async (store) => {
        const cut = await here.sessions.repair(store)
        if (shouldPrintJson(io, form)) io.stdout.write(formatDocument({ session_id: id, damaged_lines: cut }))
        else
          io.stdout.write(
            cut === 0
              ? 'The journal is not damaged.\n'
              : `Moved ${cut} damaged ${cut === 1 ? 'line' : 'lines'} to messages.bad.jsonl.\n`,
          )
      }),
    )
  command
    .command('adopt <id>')
    .description('Take over a session that came with the workspace: it becomes one of yours.')
    .action((id: string) => adoptSession(here, id))
  command
    .command('delete <id>')
    .action((id: string) => withWorkspace(here, (workspace) => here.sessions.removeSession(workspace, id)))
  command
    .command('gc')
    .description('Delete sessions beyond the limits of `sessions` in the settings.')
    .option('--json')
    .option('--text')
    .action((form: OutputForm) =>
      withWorkspace(here, async (workspace) => {
        const gone = await here.sessions.tidy(workspace, here.sessions.resolveAgentSettings(kernel), {
          now: Date.now(),
        })
        io.stdout.write(
          shouldPrintJson(io, form) ? formatDocument({ deleted: gone }) : gone.map((id) => `${id}\n`).join(''),
        )
      }),
    )
  return runCommand(command, argv, () => here.code)
}

async function withWorkspace(here: SessionCommand, what: (workspace: Workspace) => Promise<void>): Promise<void> {
  const workspace = openWorkspace(here.kernel.workspace, here.kernel.inspection)
  try {
    await what(workspace)
  } catch (error) {
    here.code = here.sessions.printFailure(here.kernel, error, here.io)
  } finally {
    workspace.close()
  }
}

/** Locks a session, changes it with `what`, and unlocks it. */
const withStore = (here: SessionCommand, id: string, what: (store: Store) => Promise<void>): Promise<void> =>
  withWorkspace(here, async (workspace) => {
    const store = await here.sessions.openStore(workspace, id, { must_exist: true })
    try {
      await what(store)
    } finally {
      await store.close()
    }
  })

const listAll = (here: SessionCommand, { all, ...form }: OutputForm & { all?: true }): Promise<void> =>
  withWorkspace(here, async (workspace) => {
    const { kernel, sessions, io } = here
    const found = all
      ? await sessions.listAllSessions(workspace.root, kernel.inspection.home)
      : await sessions.listSessions(workspace)
    const turns = ({ turn_count: count }: SessionManifest) => `${count} ${count === 1 ? 'turn' : 'turns'}`
    const row = (one: SessionManifest) =>
      [
        one.session_id,
        formatAge(one.updated_at, Date.now()),
        describeStatus(one),
        turns(one),
        ...(all ? [one.workspace] : []),
        one.title ?? one.first_prompt,
      ].map(toOneLine)
    if (shouldPrintJson(io, form)) io.stdout.write(formatDocument(found))
    else io.stdout.write(found.length === 0 ? 'There are no sessions.\n' : formatColumns(found.map(row)))
  })

/** Describes how the last run of a session ended. */
const describeStatus = ({ status, outcome }: SessionManifest): string =>
  status === 'active' || status === 'interrupted'
    ? status
    : outcome === 'success'
      ? 'completed'
      : (outcome ?? status).replaceAll('_', ' ')

/** Formats the details of a session for a person. */
const formatDetails = (one: SessionManifest): object => {
  const { v: _, outcome: __, created_at, updated_at, total_cost_usd, status: ___, ...rest } = one
  const cost = total_cost_usd === null ? 'unknown' : `${total_cost_usd.toFixed(4)} USD`
  return {
    ...rest,
    status: describeStatus(one),
    created: `${formatAge(created_at, Date.now())} (${created_at})`,
    updated: `${formatAge(updated_at, Date.now())} (${updated_at})`,
    cost,
  }
}

/** Consents to a session that came with the workspace, and shows how it begins. */
const adoptSession = (here: SessionCommand, id: string): Promise<void> =>
  withWorkspace(here, async (workspace) => {
    const { sessions, io } = here
    const one = (await sessions.listSessions(workspace)).find(({ session_id }) => session_id === id)
    if (!one) return sessions.requireOwnSession(workspace, id)
    const store = await sessions.openStore(workspace, id, { must_exist: true })
    await sessions.adoptSession(store, id).finally(() => store.close())
    await sessions.noteSession(id, workspace)
    await sessions.requireOwnSession(workspace, id)
    io.stdout.write(
      `${toOneLine(`${id} is now one of your sessions; it begins with: ${one.title ?? one.first_prompt}`)}\n`,
    )
  })

const printCertificate = (here: SessionCommand, id: string): Promise<void> =>
  withWorkspace(here, async (workspace) => {
    const { text, different } = await here.sessions.createSessionCertificate(workspace, id)
    here.io.stdout.write(`${text}\n`)
    // The files differ from those that the commands proved.
    for (const one of different) say(here.io, 'warning', `Changed since the commands ran: ${toOneLine(one)}`)
  })

const showSession = (here: SessionCommand, id: string, form: OutputForm): Promise<void> =>
  withWorkspace(here, async (workspace) => {
    const one = (await here.sessions.listSessions(workspace)).find(({ session_id }) => session_id === id)
    if (!one) await here.sessions.requireOwnSession(workspace, id)
    const { io } = here
    if (shouldPrintJson(io, form)) io.stdout.write(formatDocument(one ?? {}))
    else if (one)
      io.stdout.write(
        formatColumns(
          Object.entries(formatDetails(one)).map(([name, value]) => [
            name.replaceAll('_', ' '),
            toOneLine(String(value)),
          ]),
        ),
      )
  })
