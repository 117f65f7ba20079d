import { constants } from 'node:fs'
import { open, readFile, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isProcessRunning, processStart } from '../../../core/base/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { readOwn } from '../../lib/state/index.js'
import { AgentError } from '../base/index.js'

interface Holder {
  pid: number
  /** See `processStart`. */
  started_at: string
  boot_id: string
  host: string
}

/** Holds a session against every other writer. Throws VT_SESSION_LOCKED naming the process; the lock of a dead process is taken over. */
export async function holdSession(workspace: Workspace, path: string, folder: Handle): Promise<() => Promise<void>> {
  const file = `${folder.ref}/lock`
  const mine: Holder = { pid: process.pid, started_at: processStart(process.pid), boot_id: await bootId(), host: hostname() }
  {
    // Looking and taking are one step against others who look.
    await using _ = await workspace.lock([`${path}/lock`])
    const holder = holderIn(await readOwn(file).catch(() => undefined))
    if (holder && alive(holder, mine)) throw inUse(holder, mine, `${path}/lock`)
    await unlink(file).catch(() => {})
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
    const handle = await open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    await handle.writeFile(JSON.stringify(mine))
    await handle.close()
  }
  return () => unlink(file).catch(() => {})
}

/** Is a session in use? */
export async function isHeld(workspace: Workspace, path: string): Promise<boolean> {
  const holder = holderIn(await workspace.text(`${path}/lock`).catch(() => undefined))
  return holder !== undefined && alive(holder, { host: hostname(), boot_id: await bootId() })
}

function holderIn(text: string | undefined): Holder | undefined {
  try {
    const holder = JSON.parse(text ?? '') as Holder | null
    return typeof holder?.pid === 'number' && holder.pid > 0 && typeof holder.host === 'string' ? holder : undefined
  } catch {
    return undefined
  }
}

/** Whether a process on another machine or in a stopped container still lives cannot be seen from here. */
function inUse({ pid, host }: Holder, mine: Holder, file: string): AgentError {
  if (host === mine.host) return new AgentError('VT_SESSION_LOCKED', `The session is in use by process ${pid}.`)
  return new AgentError('VT_SESSION_LOCKED', `The session is in use by process ${pid} on ${JSON.stringify(host)}.`, { hint: `If nothing runs there any more, delete ${file}.` })
}

function alive(holder: Holder, mine: Pick<Holder, 'host' | 'boot_id'>): boolean {
  if (holder.host !== mine.host) return true
  if (holder.boot_id !== mine.boot_id) return false
  return isProcessRunning(holder.pid) && processStart(holder.pid) === holder.started_at
}

const bootId = (): Promise<string> => readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.trim(), () => '')
