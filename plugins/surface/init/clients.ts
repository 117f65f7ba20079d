import { Writable } from 'node:stream'
import type { Io, Kernel } from '../../../core/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { StoppedByPerson, type Interview } from './interview.js'

interface Seen {
  client: string
  found: boolean
  set_up: boolean
}

/** The MCP clients that `vtcode setup` knows, as it sees them on this machine. */
export async function seenClients(kernel: Kernel, io: Io): Promise<Seen[]> {
  let text = ''
  const stdout = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) })
  const code = await (await kernel.inspection.loadSurface('setup'))?.(kernel, ['--json'], { ...io, stdout })
  return code === 0 ? (JSON.parse(text) as Seen[]) : []
}

/** Sets up clients by the verb that does it, which shows each change and asks: those that were named, else those that a person wants. */
export async function setUpClients(
  kernel: Kernel,
  named: readonly string[] | undefined,
  interview: Interview,
  io: Io,
): Promise<number> {
  const setup = await kernel.inspection.loadSurface('setup')
  let code = 0
  try {
    const names = named ?? (interview.asks ? await wanted(await seenClients(kernel, io), interview, io) : [])
    for (const name of names) code = (await setup?.(kernel, [name, ...(interview.yes ? ['--yes'] : [])], io)) || code
  } catch (error) {
    if (!(error instanceof StoppedByPerson)) throw error
    io.stderr.write('No client was set up.\n')
  }
  return code
}

async function wanted(seen: Seen[], interview: Interview, io: Io): Promise<string[]> {
  const names: string[] = []
  for (const { client, found, set_up } of seen) {
    if (set_up) say(io, 'info', `${toOneLine(client)} knows vtcode already.`)
    else if (found && (await interview.wants(`Set up ${toOneLine(client)}?`, false))) names.push(client)
  }
  return names
}
