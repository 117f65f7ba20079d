import { Option } from 'commander'
import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import { toOneLine, runCommand, createVerb } from '../lib/terminal/index.js'

type Agent = typeof import('../agent/cli/index.js')
interface ExportFlags {
  out?: string
  content?: true
  endpoint?: string | true
  force?: true
}
interface ExportContext {
  agent: Agent
  workspace: Workspace
  io: Io
  id: string
}

/** `vtcode export`: writes a session in a format of other programs, or as a folder for another machine. */
export default async function exportSession(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'export',
    'Write a session as ATIF, Open Responses or OpenTelemetry to stdout or a file, or as a folder for another machine.',
    io,
  )
  const addFormat = (
    name: string,
    description: string,
    write: (here: ExportContext, flags: ExportFlags) => Promise<void>,
  ) => {
    const one = command
      .command(name)
      .argument('[session]', 'its id; default: your last session')
      .description(description)
    if (name === 'folder') one.requiredOption('--out <folder>', 'a new folder of the workspace')
    else one.option('--out <file>', 'a file of the workspace; default: stdout')
    if (name === 'otel') {
      one.option('--content', 'include texts of people, models and tools')
      one.addOption(
        new Option(
          '--endpoint [url]',
          'send to this collector; without a URL, to telemetry.otel_endpoint of your settings',
        ).conflicts('out'),
      )
    }
    one.option('--force', 'also export a session that is flagged no-export')
    one.action(
      async (id: string | undefined, flags: ExportFlags) => void (code = await runExport(kernel, io, id, flags, write)),
    )
  }
  addFormat('atif', 'an ATIF-v1.7 trajectory, one JSON document', async (here, { out }) => {
    const { events, files, faults } = await here.agent.openSessionRecords(here.workspace, here.id)
    await writeExport(here, out, here.agent.exportAtif(events, files))
    here.agent.reportFaults(io, faults)
  })
  addFormat('open-responses', 'Open Responses 2026-04-24, one streamed event per line', async (here, { out }) => {
    const { events, faults } = await here.agent.openSessionRecords(here.workspace, here.id)
    await writeExport(here, out, here.agent.exportOpenResponses(events))
    here.agent.reportFaults(io, faults)
  })
  addFormat(
    'otel',
    'OTLP/JSON spans by the GenAI conventions; sent only with --endpoint',
    async (here, { out, content, endpoint }) => {
      const collector = endpoint === undefined ? undefined : here.agent.resolveCollector(kernel, endpoint)
      const { events, faults } = await here.agent.openSessionRecords(here.workspace, here.id)
      const spans = here.agent.exportOtel(events, { content: content ?? false })
      await (collector
        ? here.agent.sendSpans(collector, spans, io).then(() => printPath(io, collector.href))
        : writeExport(here, out, spans))
      here.agent.reportFaults(io, faults)
    },
  )
  addFormat('folder', 'events, prompts and manifest, for `vtcode trace <folder>` on another machine', (here, { out }) =>
    writeFolder(here, out!),
  )
  return runCommand(command, argv.length === 0 ? ['--help'] : argv, () => code)
}

async function runExport(
  kernel: Kernel,
  io: Io,
  named: string | undefined,
  flags: ExportFlags,
  write: (here: ExportContext, flags: ExportFlags) => Promise<void>,
): Promise<number> {
  const agent = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const id = await agent.resolveSessionId(workspace, named)
    if (!flags.force) await agent.refuseFlagged(workspace, id)
    await write({ agent, workspace, io, id }, flags)
    return 0
  } catch (error) {
    return agent.printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

const writeExport = (
  { agent, workspace, io }: ExportContext,
  out: string | undefined,
  pieces: AsyncIterable<string>,
): Promise<void> =>
  out === undefined
    ? agent.printPieces(io, pieces)
    : agent.writePieces(workspace, out, pieces).then(() => printPath(io, out))

const printPath = (io: Io, path: string): void => void io.stdout.write(`${toOneLine(path)}\n`)

/** Writes the files of a trace, and nothing to resume a session with: no journal, no queue, no images. */
async function writeFolder({ agent, workspace, io, id }: ExportContext, out: string): Promise<void> {
  const place = workspace.normalize(out)
  await workspace.write(`${place}/.gitignore`, Buffer.from('*\n'), 'nothing')
  const { events, files, faults } = await agent.openSessionRecords(workspace, id)
  const prompts = new Set<string>()
  const lines = async function* () {
    for await (const event of events) {
      if (event.type === 'segment.started') prompts.add(event.prompt_path).add(event.catalog_path)
      yield agent.formatEventLine(event)
    }
  }
  await agent.writePieces(workspace, `${place}/events.jsonl`, lines())
  for (const path of prompts) {
    const text = await files.read(path)
    if (text !== undefined) await workspace.write(`${place}/${path}`, Buffer.from(text), 'anything')
  }
  const known = (await agent.listSessions(workspace)).find(({ session_id }) => session_id === id)
  // The path of the workspace means nothing on another machine.
  const { workspace: _, ...manifest } = known ?? { workspace: '' }
  await workspace.write(`${place}/manifest.json`, Buffer.from(`${JSON.stringify(manifest)}\n`), 'anything')
  agent.reportFaults(io, faults)
  printPath(io, place)
}
