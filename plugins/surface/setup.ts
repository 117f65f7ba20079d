import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { findProgram, isInside, listSearchFolders } from '../../core/system/index.js'
import { programFile, type Io, type Kernel } from '../../core/index.js'
import { formatDifference, readOwnFile, requireInside, writeDraft, type FileDraft } from '../lib/own_files/index.js'
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
import { clients, type EditorClient } from './setup/clients.js'
import { editSettings } from './setup/edit.js'
import { listMissingFolders, noteFolders, removeFolders } from './setup/folders.js'

/** Runs `vtcode setup`: adds this server to the settings of an MCP client after showing the change. */
export default async function setup(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('setup', 'Add the MCP server to the settings of a client, or remove it again.', io)
    .argument('[client]', Object.keys(clients).join(', '))
    .option('--yes', 'write without asking')
    .option('--undo', 'remove the entry again')
    .option('--json', 'without a client: print the list as JSON')
    .action(async (name: string | undefined, { json, ...flags }: { yes?: true; undo?: true; json?: true }) => {
      if (name === undefined) await list(kernel, json ?? false, io)
      else code = await change(kernel, name, flags, io)
    })
  return runCommand(command, argv, () => code)
}

/** Prints the clients of this machine, and which of them have our entry. */
async function list(kernel: Kernel, json: boolean, io: Io): Promise<void> {
  const places = { workspace: kernel.workspace, home: io.env['HOME'] || homedir(), env: io.env }
  const path = listSearchFolders(io.env['PATH'], kernel.workspace)
  const rows = await Promise.all(
    Object.entries(clients).map(async ([client, known]) => {
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
        set_up: existsSync(file) && (await isSetUp(file, known, known.entry(listServerCommand(kernel, io), places))),
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

async function change(
  kernel: Kernel,
  name: string,
  { yes, undo }: { yes?: true; undo?: true },
  io: Io,
): Promise<number> {
  const client = Object.hasOwn(clients, name) ? clients[name] : undefined
  if (!client) {
    say(io, 'error', `Unknown client '${name}'; known: ${Object.keys(clients).join(', ')}.`)
    return 2
  }
  const places = { workspace: kernel.workspace, home: io.env['HOME'] || homedir(), env: io.env }
  const file = client.file(places)
  const entry = undo ? undefined : client.entry(listServerCommand(kernel, io), places)
  let draft: FileDraft
  try {
    requireInside(kernel.workspace, file)
    const before = readOwnFile(file)
    draft = { file, before, after: await editSettings(before, client, entry) }
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
  } catch (error) {
    say(io, 'error', `${toOneLine(file)} cannot be written: ${(error as Error).message}. Nothing was changed.`)
    return 1
  }
  io.stdout.write(undo ? 'Removed.\n' : `Written. \`vtcode setup ${name} --undo\` removes the entry.\n`)
  return 0
}

const formatReason = (error: unknown): string =>
  error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message.replace(/\.$/, '')

function formatAdvice({ path }: EditorClient, entry: unknown): string {
  if (!entry) return ' Remove the entry vtcode yourself.'
  return ` Enter this yourself under ${path.join('.')}.vtcode: ${JSON.stringify(entry)}`
}

/** Returns the command that starts the server: `vtcode` where it is on the path, else this program by its file. */
function listServerCommand(kernel: Kernel, io: Io): string[] {
  const known = findProgram('vtcode', listSearchFolders(io.env['PATH'], kernel.workspace))
  return [...(known ? ['vtcode'] : [process.execPath, programFile('core/bin.cjs')]), 'mcp']
}
