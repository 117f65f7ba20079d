import { randomUUID } from 'node:crypto'
import type { Session as CallerSession, Context, VtError } from '../../../core/index.js'
import { nextCall, createSlotError } from '../../lib/base/index.js'
import { getStartedCommands } from '../../lib/process/index.js'
import { endMarkedProcesses, type MarkedCommand } from '../processes/process_tree.js'
import type { CommandSession } from './session.js'

const FINISHED_LIMITS = { most: 64, ms: 10 * 60 * 1000 }

/** Returns the commands of the caller's session; their ids are invalid in others. */
export const getSessions = ({ session }: Context): CommandSessions =>
  session.state('exec/sessions', () => new CommandSessions(session))

export class CommandSessions {
  private readonly known = new Map<string, CommandSession>()
  /** Ids of programs that are starting. */
  private readonly starting = new Set<string>()
  private readonly started: ReturnType<typeof getStartedCommands>
  /** Forgotten commands with processes that left them and end with the caller's session. */
  private readonly left: MarkedCommand[] = []
  private closed = false

  constructor(session: CallerSession) {
    this.started = getStartedCommands({ session })
    session.onClose(() => this.closeAll())
  }

  /** Lists the sessions, oldest first. */
  all(): CommandSession[] {
    const over = [...this.known.values()].filter(({ running }) => !running)
    const old = over.filter(
      ({ ended_at = 0 }, index) =>
        index < over.length - FINISHED_LIMITS.most || Date.now() - ended_at > FINISHED_LIMITS.ms,
    )
    for (const session of old) if (!session.leftRunning) void this.forget(session)
    return [...this.known.values()]
  }

  /** Returns a session by id. Throws VT_EXEC_SESSION. */
  find(id: string): CommandSession {
    const session = this.all().find(({ facts }) => facts.id === id)
    if (!session) throw this.createUnknownError(id)
    session.touch()
    return session
  }

  /**
   * Starts a program under an id, or a generated one. Throws VT_EXEC_SESSION_EXISTS, VT_EXEC_LIMIT and the errors of
   * `start`.
   */
  async add(
    wanted: string | undefined,
    most: number,
    start: (id: string) => Promise<CommandSession>,
  ): Promise<CommandSession> {
    const id = wanted ?? this.newId()
    if (this.known.has(id) || this.starting.has(id))
      throw createSlotError('VT_EXEC_SESSION_EXISTS', `The session '${id}' exists already.`)
    const running = this.all().filter((session) => session.running).length + this.starting.size
    if (running >= most) {
      throw createSlotError('VT_EXEC_LIMIT', `${running} commands are running; the limit is ${most}.`, {
        retryable: true,
        next: list,
      })
    }
    this.starting.add(id)
    try {
      const session = await start(id)
      this.known.set(id, session)
      const { command, cwd, mark } = session.facts
      this.started.set(id, { command, cwd, mark, isRunning: () => session.running })
      if (this.closed) await this.forget(session)
      return session
    } finally {
      this.starting.delete(id)
    }
  }

  async forget(session: CommandSession): Promise<void> {
    const { id } = session.facts
    if (this.known.get(id) === session) {
      this.known.delete(id)
      this.started.delete(id)
    }
    await session.close()
    // Only a command in the background was asked to leave something.
    if (session.survivors.length > 0 && !session.facts.background) this.left.push(session.marked)
  }

  private createUnknownError(id: string): VtError {
    const live = this.all()
      .filter(({ running }) => running)
      .map(({ facts }) => facts.id)
    return createSlotError('VT_EXEC_SESSION', `Session not found: '${id}'.`, {
      details: { sessions: live },
      next: list,
    })
  }

  private newId(): string {
    const id = `run-${randomUUID().slice(0, 8)}`
    return this.known.has(id) || this.starting.has(id) ? this.newId() : id
  }

  private async closeAll(): Promise<void> {
    this.closed = true
    await Promise.all(this.all().map((session) => this.forget(session)))
    await Promise.all(this.left.map(endMarkedProcesses))
  }
}

const list = nextCall('sessions')
