import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { findProgram, inside, searchPath } from '../../core/system/index.js'
import { programFile, type Io, type Kernel } from '../../core/index.js'
import { difference, ownText, requireWithin, writeDraft, type FileDraft } from '../lib/own_files/index.js'
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
import { edit } from './setup/edit.js'
import { missingFolders, noteFolders, removeFolders } from './setup/folders.js'

/** `vtcode setup <client>`: tells an MCP client of us, showing first what would change. */
export default async function setup(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('setup', 'Enters the MCP server into the settings of a client, or takes it out again.', io)
    .argument('[client]', Object.keys(clients).join(', '))
    .option('--yes', 'write without asking')
    .option('--undo', 'take our entry out again')
    .option('--json', 'without a client: the list as JSON')
    .action(async (name: string | undefined, { json, ...flags }: { yes?: true; undo?: true; json?: true }) => {
      if (name === undefined) await list(kernel, json ?? false, io)
      else code = await change(kernel, name, flags, io)
    })
  return runCommand(command, argv, () => code)
}

/** Which clients are on this machine, and which of them know us. */
async function list(kernel: Kernel, json: boolean, io: Io): Promise<void> {
  const places = { workspace: kernel.workspace, home: io.env['HOME'] || homedir(), env: io.env }
  const path = searchPath(io.env['PATH'], kernel.workspace)
  const rows = await Promise.all(
    Object.entries(clients).map(async ([client, known]) => {
      const file = known.file(places)
      const folder = dirname(file)
      const found =
        findProgram(known.program ?? client, path) !== undefined ||
        existsSync(file) ||
        (folder !== places.home &&
          folder !== kernel.workspace &&
          !inside(kernel.workspace, folder) &&
          existsSync(folder))
      return {
        client,
        found,
        set_up: existsSync(file) && (await knowsUs(file, known, known.entry(program(kernel, io), places))),
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

async function knowsUs(file: string, client: EditorClient, entry: Record<string, unknown>): Promise<boolean> {
  try {
    const text = ownText(file)
    return text !== undefined && (await edit(text, client, entry)) === text
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
  const entry = undo ? undefined : client.entry(program(kernel, io), places)
  let draft: FileDraft
  try {
    requireWithin(kernel.workspace, file)
    const before = ownText(file)
    draft = { file, before, after: await edit(before, client, entry) }
  } catch (error) {
    say(io, 'error', `${toOneLine(file)} is not changed: ${reasonOf(error)}.${adviceFor(client, entry)}`)
    return 1
  }
  if (draft.after === draft.before) {
    io.stdout.write(`${toOneLine(file)} is as it should be.\n`)
    return 0
  }
  io.stdout.write(difference(draft, io))
  if (!yes && !(isInteractive(io) && (await confirm(io, 'Write it?')))) {
    if (!isInteractive(io)) say(io, 'info', 'Nothing was written; --yes writes.')
    return isInteractive(io) ? 1 : 0
  }
  try {
    const missing = missingFolders(file)
    writeDraft(draft)
    if (draft.after === undefined) removeFolders(kernel.inspection.home, file)
    else noteFolders(kernel.inspection.home, missing)
  } catch (error) {
    say(io, 'error', `${toOneLine(file)} cannot be written: ${(error as Error).message}. Nothing was changed.`)
    return 1
  }
  io.stdout.write(undo ? 'Taken out.\n' : `Written. \`vtcode setup ${name} --undo\` takes it out again.\n`)
  return 0
}

const reasonOf = (error: unknown): string =>
  error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message.replace(/\.$/, '')

function adviceFor({ path }: EditorClient, entry: unknown): string {
  if (!entry) return ' Take the entry vtcode out yourself.'
  return ` Enter this yourself under ${path.join('.')}.vtcode: ${JSON.stringify(entry)}`
}

/** The words that start the server: by name where it is on the path, else this very program. */
function program(kernel: Kernel, io: Io): string[] {
  const known = findProgram('vtcode', searchPath(io.env['PATH'], kernel.workspace))
  return [...(known ? ['vtcode'] : [process.execPath, programFile('core/bin.cjs')]), 'mcp']
}
