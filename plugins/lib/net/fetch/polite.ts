const atOnce = 2

interface Door {
  inside: number
  readonly waiting: (() => void)[]
}
const doors = new Map<string, Door>()

/** Runs `work` when fewer than two of this process's requests are with the host; the others wait their turn. Rejects when `signal` aborts meanwhile. */
export async function politely<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const door = doors.get(host) ?? { inside: 0, waiting: [] }
  doors.set(host, door)
  if (door.inside < atOnce) door.inside++
  else await turn(door, signal)
  try {
    return await work()
  } finally {
    // A place goes from hand to hand, so that the count never exceeds the limit.
    const next = door.waiting.shift()
    if (next) next()
    else if (--door.inside === 0) doors.delete(host)
  }
}

function turn(door: Door, signal: AbortSignal): Promise<void> {
  return new Promise((go, refuse) => {
    const enter = () => {
      signal.removeEventListener('abort', leave)
      go()
    }
    const leave = () => {
      door.waiting.splice(door.waiting.indexOf(enter), 1)
      refuse(signal.reason as Error)
    }
    door.waiting.push(enter)
    signal.addEventListener('abort', leave, { once: true })
  })
}
