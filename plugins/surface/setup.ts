import { isUtf8 } from 'node:buffer'
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { findProgram, inside, searchPath, writeStateSync } from '../../core/base/index.js'
import { readBytes } from '../../core/documents/index.js'
import { programFile, type Io, type Kernel } from '../../core/index.js'
import { confirmed, interactive, oneLine, paint, printable, runCommand, say, verb } from '../lib/terminal/index.js'
import { clients } from './setup/clients.js'
import { edit } from './setup/edit.js'

/** `vtcode setup <client>`: tells an MCP client of us, showing first what would change. */
export default async function setup(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = verb('setup', 'Enters the MCP server into the settings of a client, or takes it out again.', io)
    .argument('<client>', Object.keys(clients).join(', '))
    .option('--yes', 'write without asking')
    .option('--undo', 'take our entry out again')
    .action(async (name: string, flags: { yes?: true; undo?: true }) => void (code = await change(kernel, name, flags, io)))
  return runCommand(command, argv, () => code)
}

async function change(kernel: Kernel, name: string, { yes, undo }: { yes?: true; undo?: true }, io: Io): Promise<number> {
  const client = Object.hasOwn(clients, name) ? clients[name] : undefined
  if (!client) {
    say(io, 'error', `Unknown client '${name}'; known: ${Object.keys(clients).join(', ')}.`)
    return 2
  }
  const places = { workspace: kernel.workspace, home: io.env['HOME'] || homedir(), env: io.env }
  const file = client.file(places)
  const entry = undo ? undefined : client.entry(program(kernel, io), places)
  let before: string | undefined
  let after: string | undefined
  try {
    requireOwn(file, kernel.workspace)
    before = read(file)
    after = await edit(before, client, entry)
  } catch (error) {
    const paste = entry ? ` Enter this yourself under ${client.path.join('.')}.vtcode: ${JSON.stringify(entry)}` : ' Take the entry vtcode out yourself.'
    const reason = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message.replace(/\.$/, '')
    say(io, 'error', `${oneLine(file)} is not changed: ${reason}.${paste}`)
    return 1
  }
  if (after === before) {
    io.stdout.write(`${oneLine(file)} is as it should be.\n`)
    return 0
  }
  io.stdout.write(difference(file, before, after, io))
  if (!yes && !(interactive(io) && (await confirmed(io, 'Write it?')))) {
    if (!interactive(io)) say(io, 'info', 'Nothing was written; --yes writes.')
    return interactive(io) ? 1 : 0
  }
  try {
    if (read(file) !== before) throw new Error('it was changed while you were asked')
    write(file, after)
  } catch (error) {
    say(io, 'error', `${oneLine(file)} cannot be written: ${(error as Error).message}. Nothing was changed.`)
    return 1
  }
  io.stdout.write(undo ? 'Taken out.\n' : `Written. \`vtcode setup ${name} --undo\` takes it out again.\n`)
  return 0
}

/** The words that start the server: by name where it is on the path, else this very program. */
function program(kernel: Kernel, io: Io): string[] {
  const known = findProgram('vtcode', searchPath(io.env['PATH'], kernel.workspace))
  return [...(known ? ['vtcode'] : [process.execPath, programFile('core/bin.js')]), 'mcp']
}

/** What lies in the workspace stays there: a repository may have brought a link to a file of somebody else. In their home the user's own links count. */
function requireOwn(file: string, workspace: string): void {
  let there = file
  while (!lstatSync(there, { throwIfNoEntry: false })) there = dirname(there)
  if (inside(workspace, file) && !inside(realpathSync(workspace), realpathSync(there))) throw new Error('it leads out of the workspace')
}

/** In one step, so that nobody finds half a file. A link of the user's stays a link, and a file keeps who may read it. */
function write(file: string, text: string | undefined): void {
  if (text === undefined) return rmSync(file)
  makeFolder(dirname(file))
  if (!lstatSync(file, { throwIfNoEntry: false })) return writeStateSync(file, text, { mode: 0o644 })
  const there = realpathSync(file)
  const { mode } = statSync(there)
  writeStateSync(there, text, { mode })
  chmodSync(there, mode)
}

function read(file: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readBytes(file, { limit: 16 * 1_048_576 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (lstatSync(file, { throwIfNoEntry: false })) throw new Error('it is a link to a file that does not exist')
    return undefined
  }
  if (!isUtf8(bytes)) throw new Error('its bytes are no text in UTF-8')
  return bytes.toString()
}

/** What goes and what comes, between the lines that stay the same at both ends. */
function difference(file: string, before = '', after = '', io: Io): string {
  const { bold, red, green, dim } = paint(io.stdout, io.env)
  const [old, now] = [before, after].map((text) => printable(text).split('\n').slice(0, -1)) as [string[], string[]]
  let head = 0
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head++
  let tail = 0
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const around = (lines: string[]) => lines.map((line) => dim(`  ${line}\n`))
  return [
    `${bold(oneLine(file))}\n`,
    ...around(old.slice(Math.max(0, head - 2), head)),
    ...old.slice(head, old.length - tail).map((line) => red(`- ${line}\n`)),
    ...now.slice(head, now.length - tail).map((line) => green(`+ ${line}\n`)),
    ...around(now.slice(now.length - tail, now.length - tail + 2)),
  ].join('')
}

/** One folder after the other: where none can be made, as below /proc, Node's own `recursive` never ends. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path)
}
