/** A server that may be connected. */
export interface Seated {
  /** It is connected, and no call was ever made by that connection: it was only asked what it offers. */
  readonly isIdle: boolean
  /** Settles when a start that is under way has come to an end; nothing where none is. */
  readonly starting: Promise<unknown> | undefined
  /** Ends the connection, which is no failure. */
  leave(): Promise<void>
}

const seated = new Set<Seated>()

/**
 * A place among the servers that are connected at the same time. Who only listed its tools makes room for the next; who is called stays.
 * Answers with whether there was one.
 */
export async function takeSeat(server: Seated, most: number): Promise<boolean> {
  while (!seated.has(server) && seated.size >= most) {
    const others = [...seated]
    const idle = others.find(({ isIdle }) => isIdle)
    const starting = others.flatMap((one) => one.starting ?? [])
    if (idle) {
      seated.delete(idle)
      await idle.leave()
    } else if (starting.length === 0) return false
    else await Promise.race(starting.map((one) => one.catch(() => {})))
  }
  seated.add(server)
  return true
}

export const leaveSeat = (server: Seated): void => void seated.delete(server)
