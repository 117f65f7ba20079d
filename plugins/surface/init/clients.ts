import { Writable } from 'node:stream'
import type { Io, Kernel } from '../../../core/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { StoppedByPerson, type Interview } from './interview.js'

interface ClientState {
  client: string
  found: boolean
  set_up: boolean
}

/** Lists the MCP clients that `vtcode setup` knows, with their state on this machine. */
export async function listClients(kernel: Kernel, io: Io): Promise<ClientState[]> {
  let text = ''
  const stdout = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) })
  const code = await (await kernel.inspection.loadSurface('setup'))?.(kernel, ['--json'], { ...io, stdout })
  return code === 0 ? (JSON.parse(text) as ClientState[]) : []
}

/** Sets up the named clients, or those that a person chooses, with `vtcode setup`, which shows each change and asks. */
export async function setUpClients(
  kernel: Kernel,
  named: readonly string[] | undefined,
  interview: Interview,
  io: Io,
): Promise<number> {
  const setup = await kernel.inspection.loadSurface('setup')
  let code = 0
  try {
    const names =
      named ?? (interview.interactive ? await chooseClients(await listClients(kernel, io), interview, io) : [])
    for (const name of names) code = (await setup?.(kernel, [name, ...(interview.yes ? ['--yes'] : [])], io)) || code
  } catch (error) {
    if (!(error instanceof StoppedByPerson)) throw error
    io.stderr.write('No client was set up.\n')
  }
  return code
}

async function chooseClients(seen: ClientState[], interview: Interview, io: Io): Promise<string[]> {
  const names: string[] = []
  for (const { client, found, set_up } of seen) {
    if (set_up) say(io, 'info', `${toOneLine(client)} is set up already.`)
    else if (found && (await interview.confirm(`Set up ${toOneLine(client)}?`, false))) names.push(client)
  }
  return names
}
