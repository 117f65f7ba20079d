/** A connection that counts against `mcp.max_connections`. */
export interface LimitedConnection {
  /** Set when the connection only listed tools and made no call. */
  readonly isIdle: boolean
  /** Settles when an active start ends; absent without one. */
  readonly starting: Promise<unknown> | undefined
  /** Ends the connection without counting a failure. */
  leave(): Promise<void>
}

const reserved = new Set<LimitedConnection>()

/**
 * Reserves one of `most` connections. An idle one makes room for the next; one with calls stays. Returns false when all
 * are in use.
 */
export async function reserveConnection(server: LimitedConnection, most: number): Promise<boolean> {
  while (!reserved.has(server) && reserved.size >= most) {
    const others = [...reserved]
    const idle = others.find(({ isIdle }) => isIdle)
    const starting = others.flatMap((one) => one.starting ?? [])
    if (idle) {
      reserved.delete(idle)
      await idle.leave()
    } else if (starting.length === 0) return false
    else await Promise.race(starting.map((one) => one.catch(() => {})))
  }
  reserved.add(server)
  return true
}

export const releaseConnection = (server: LimitedConnection): void => void reserved.delete(server)
