import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { findProgram, isInside, listSearchFolders } from '../../core/system/index.js'
import { programFile, type Io, type Kernel } from '../../core/index.js'
import { formatDifference, readOwnFile, requireInside, writeDraft } from '../lib/own_files/index.js'
import {
  formatColumns,
  confirm,
  formatDocument,
  isInteractive,
  toOneLine,
  runCommand,
  say,
  createVerb,
} from '../lib/terminal/index.js'
import { agentEditors } from './setup/agent_editors.js'
import { clients, type EditorClient } from './setup/clients.js'
import { editSettings } from './setup/edit.js'
import { listMissingFolders, noteFolders, removeFolders } from './setup/folders.js'
import { findOriginal, noteChange, type SetupDraft } from './setup/reversals.js'

interface SetupFlags {
  yes?: true
  undo?: true
  agent?: true
}
const listKnown = (agent: true | undefined): Readonly<Record<string, EditorClient>> => (agent ? agentEditors : clients)

/** Runs `vtcode setup`: adds the server or the agent to the settings of an editor after showing the change. */
export default async function setup(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'setup',
    'Add the MCP server, or with --agent the agent, to the settings of a client; or remove it again.',
    io,
  )
    .argument('[client]', `${Object.keys(clients).join(', ')}; with --agent ${Object.keys(agentEditors).join(', ')}`)
    .option('--agent', 'add the agent, for editors that speak the Agent Client Protocol')
    .option('--yes', 'write without asking')
    .option('--undo', 'remove the entry again')
    .option('--json', 'without a client: print the list as JSON')
    .action(async (name: string | undefined, { json, ...flags }: SetupFlags & { json?: true }) => {
      if (name === undefined) await list(kernel, { json: json ?? false, agent: flags.agent }, io)
      else code = await change(kernel, name, flags, io)
    })
  return runCommand(command, argv, () => code)
}

/** Prints the clients of this machine, and which of them have our entry. */
async function list(
  kernel: Kernel,
  { json, agent }: { json: boolean; agent: true | undefined },
  io: Io,
): Promise<void> {
  const places = { workspace: kernel.workspace, home: io.env['HOME'] || homedir(), env: io.env }
  const path = listSearchFolders(io.env['PATH'], kernel.workspace)
  const command = listServerCommand(kernel, io, agent)
  const rows = await Promise.all(
    Object.entries(listKnown(agent)).map(async ([client, known]) => {
      const file = known.file(places)
      const folder = dirname(file)
      const found =
        findProgram(known.program ?? client, path) !== undefined ||
        existsSync(file) ||
        (folder !== places.home &&
          folder !== kernel.workspace &&
          !isInside(kernel.workspace, folder) &&
          existsSync(folder))
      return {
        client,
        found,
        set_up: existsSync(file) && (await isSetUp(file, known, known.entry(command, places))),
        file,
      }
    }),
  )
  if (json) return void io.stdout.write(formatDocument(rows))
  io.stdout.write(
    formatColumns(
      rows.map(({ client, found, set_up, file }) => [
        client,
        set_up ? 'set up' : found ? 'found' : 'not found',
        toOneLine(file),
      ]),
    ),
  )
}

async function isSetUp(file: string, client: EditorClient, entry: Record<string, unknown>): Promise<boolean> {
  try {
    const text = readOwnFile(file)
    return text !== undefined && (await editSettings(text, client, entry)) === text
  } catch {
    return false
  }
}

/** Returns the client of a name, or prints the error. */
function findClient(name: string, agent: true | undefined, io: Io): EditorClient | undefined {
  const known = listKnown(agent)
  if (Object.hasOwn(known, name)) return known[name]
  const hint = !agent && Object.hasOwn(agentEditors, name) ? ` For the agent: vtcode setup ${name} --agent.` : ''
  say(io, 'error', `Unknown client '${name}'; known: ${Object.keys(known).join(', ')}.${hint}`)
  return undefined
}

async function change(kernel: Kernel, name: string, { yes, undo, agent }: SetupFlags, io: Io): Promise<number> {
  const client = findClient(name, agent, io)
  if (!client) return 2
  const places = { workspace: kernel.workspace, home: io.env['HOME'] || homedir(), env: io.env }
  const file = client.file(places)
  const entry = undo ? undefined : client.entry(listServerCommand(kernel, io, agent), places)
  let draft: SetupDraft
  try {
    requireInside(kernel.workspace, file)
    draft = await draftChange(kernel.inspection.home, file, client, entry)
  } catch (error) {
    say(io, 'error', `${toOneLine(file)} was not changed: ${formatReason(error)}.${formatAdvice(client, entry)}`)
    return 1
  }
  if (draft.after === draft.before) {
    io.stdout.write(`${toOneLine(file)} is up to date.\n`)
    return 0
  }
  io.stdout.write(formatDifference(draft, io))
  if (!yes && !(isInteractive(io) && (await confirm(io, 'Write it?')))) {
    if (!isInteractive(io)) say(io, 'info', 'Nothing was written; --yes writes the file.')
    return isInteractive(io) ? 1 : 0
  }
  try {
    const missing = listMissingFolders(file)
    writeDraft(draft)
    if (draft.after === undefined) removeFolders(kernel.inspection.home, file)
    else noteFolders(kernel.inspection.home, missing)
    noteChange(kernel.inspection.home, draft)
  } catch (error) {
    say(io, 'error', `${toOneLine(file)} cannot be written: ${(error as Error).message}. Nothing was changed.`)
    return 1
  }
  io.stdout.write(
    undo ? 'Removed.\n' : `Written. \`vtcode setup ${name}${agent ? ' --agent' : ''} --undo\` removes the entry.\n`,
  )
  return 0
}

async function draftChange(
  home: string,
  file: string,
  client: EditorClient,
  entry: Record<string, unknown> | undefined,
): Promise<SetupDraft> {
  const before = readOwnFile(file)
  const key = [file, ...client.path].join(' ')
  const original = findOriginal(home, key, before)
  if (!entry) return { key, file, before, after: original ?? (await editSettings(before, client, undefined)) }
  const after = await editSettings(before, client, entry)
  // A text that already has our entry is no original, unless the record says what was before it.
  const isOriginal =
    before !== undefined && before.trim() !== '' && (await editSettings(before, client, undefined)) === before
  return { key, file, before, after, original: original ?? (isOriginal ? before : undefined) }
}

const formatReason = (error: unknown): string =>
  error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message.replace(/\.$/, '')

function formatAdvice({ format, path }: EditorClient, entry: Record<string, unknown> | undefined): string {
  if (!entry) return ' Remove the entry vtcode yourself.'
  if (format === 'block') return ` Enter this yourself:\n${String(entry['text'])}`
  return ` Enter this yourself under ${path.join('.')}.vtcode: ${JSON.stringify(entry)}`
}

/**
 * Returns the command that starts the server or the agent: `vtcode` where it is on the path, else this program by its
 * file. Editors that start from a desktop have another path, so they get the whole name.
 */
function listServerCommand(kernel: Kernel, io: Io, agent: true | undefined): string[] {
  const known = findProgram('vtcode', listSearchFolders(io.env['PATH'], kernel.workspace))
  const own = [process.execPath, programFile('core/bin.cjs')]
  return agent ? [...(known ? [known] : own), 'acp'] : [...(known ? ['vtcode'] : own), 'mcp']
}
