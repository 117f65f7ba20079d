import { realpathSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { McpServer, SessionInfo } from '@agentclientprotocol/sdk'
import { openWorkspace, type Io, type Kernel } from '../../../core/index.js'
import { toRealPath } from '../../../core/system/index.js'
import {
  listAllOwnSessions,
  listAllSessions,
  removeSession,
  requireOwnSession,
  type SessionManifest,
} from '../../agent/cli/index.js'
import { toOneLine } from '../../lib/terminal/index.js'
import { checkServers } from './client_servers.js'
import { invalidParams, sessionNotFound } from './errors.js'
import { EditorSession } from './session.js'
import type { ConnectedEditor, SessionKernel } from './session_agent.js'

/** Sessions of one answer to `session/list`. */
const PAGE_SIZE = 50

interface Place {
  cwd: string
  mcpServers?: readonly McpServer[]
}

/** The sessions of one connection. Sessions of one folder share a kernel. */
export class SessionTable {
  readonly #open = new Map<string, EditorSession>()
  readonly #kernels = new Map<string, { kernel: Promise<Kernel>; users: number }>()

  constructor(
    private readonly kernel: Kernel,
    private readonly io: Io,
    private readonly client: (session_id: string) => ConnectedEditor,
  ) {}

  /** Returns an open session. Throws session not found. */
  get(id: string): EditorSession {
    const session = this.#open.get(id)
    if (!session) throw sessionNotFound(id)
    return session
  }

  /** Opens a new session, or an existing one. Throws invalid params and AgentError. */
  async open({ cwd, mcpServers = [] }: Place, resume?: string): Promise<EditorSession> {
    const known = resume === undefined ? undefined : this.#open.get(resume)
    if (known) return known
    const root = requireFolder(cwd)
    const kernel = await this.#openKernel(root)
    try {
      if (resume !== undefined) await requireKnown(kernel.kernel, resume)
      const servers = checkServers(kernel.kernel, mcpServers)
      const session = await EditorSession.open({
        io: this.io,
        kernel,
        servers,
        client: this.client,
        ...(resume !== undefined && { resume }),
      })
      this.#open.set(session.id, session)
      return session
    } catch (error) {
      await kernel.release()
      throw error
    }
  }

  async close(id: string): Promise<void> {
    const session = this.#open.get(id)
    if (!session) throw sessionNotFound(id)
    this.#open.delete(id)
    await session.close()
  }

  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#open.keys()].map((id) => this.close(id)))
  }

  /** Deletes a session with all its files. Throws session not found. */
  async delete(id: string): Promise<void> {
    const manifest = (await listAllSessions(...this.#where)).find(({ session_id }) => session_id === id)
    if (this.#open.has(id)) await this.close(id)
    else if (!manifest) throw sessionNotFound(id)
    if (!manifest) return
    const workspace = openWorkspace(manifest.workspace, this.kernel.inspection)
    try {
      await requireOwnSession(workspace, id)
      await removeSession(workspace, id)
    } finally {
      workspace.close()
    }
  }

  /** Lists the sessions of this user that have a turn, the most recently used first. Throws invalid params. */
  async list(cwd: string | undefined, cursor: string | undefined): Promise<{ sessions: SessionInfo[]; next?: string }> {
    if (cwd !== undefined && !isAbsolute(cwd)) throw invalidParams('cwd', 'must be an absolute path.')
    const start = cursor === undefined ? 0 : Number(cursor)
    if (!Number.isSafeInteger(start) || start < 0 || cursor === '')
      throw invalidParams('cursor', 'must be the nextCursor of an earlier answer.')
    const found = (await listAllOwnSessions(...this.#where)).filter(
      ({ session_id, workspace, turn_count, parent_thread_id, fork_mode }) =>
        (cwd === undefined || workspace === toRealPath(cwd)) &&
        // The record of an open session is written a little later.
        (turn_count > 0 || this.#open.get(session_id)?.title !== undefined) &&
        (parent_thread_id === undefined || fork_mode !== undefined),
    )
    const next = start + PAGE_SIZE < found.length ? { next: String(start + PAGE_SIZE) } : {}
    const page = found.slice(start, start + PAGE_SIZE)
    return { sessions: page.map((one) => toInfo(one, this.#open.get(one.session_id)?.title)), ...next }
  }

  get #where(): [workspace: string, home: string] {
    return [this.kernel.workspace, this.kernel.inspection.home]
  }

  async #openKernel(root: string): Promise<SessionKernel> {
    if (root === this.kernel.workspace) return { kernel: this.kernel, release: async () => {} }
    const known = this.#kernels.get(root) ?? { kernel: this.kernel.inspection.openSibling(root), users: 0 }
    this.#kernels.set(root, known)
    known.users += 1
    let released = false
    const release = async () => {
      if (released) return
      released = true
      known.users -= 1
      if (known.users > 0) return
      this.#kernels.delete(root)
      await (await known.kernel).close()
    }
    try {
      return { kernel: await known.kernel, release }
    } catch (error) {
      this.#kernels.delete(root)
      throw error
    }
  }
}

const toInfo = (
  { session_id, workspace, title, first_prompt, updated_at }: SessionManifest,
  shown: string | undefined,
): SessionInfo => ({
  sessionId: session_id,
  cwd: workspace,
  title: toOneLine(title ?? (first_prompt || (shown ?? ''))).slice(0, 200),
  updatedAt: updated_at,
})

/** Throws session not found for an id that is no session of this user in this workspace. */
async function requireKnown(kernel: Kernel, id: string): Promise<void> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    await requireOwnSession(workspace, id)
  } finally {
    workspace.close()
  }
}

function requireFolder(cwd: string): string {
  if (!isAbsolute(cwd)) throw invalidParams('cwd', 'must be an absolute path.')
  try {
    const root = realpathSync(cwd)
    if (statSync(root).isDirectory()) return root
  } catch {
    // The error below names the field.
  }
  throw invalidParams('cwd', 'is no folder that can be opened.')
}
