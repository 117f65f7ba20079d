const MAX_PER_HOST = 2

interface HostQueue {
  active: number
  readonly waiting: (() => void)[]
}
const queues = new Map<string, HostQueue>()

/**
 * Runs `work` while fewer than two requests of this process use the host; further calls wait in a queue. Rejects on
 * abort while waiting.
 */
export async function limitPerHost<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const queue = queues.get(host) ?? { active: 0, waiting: [] }
  queues.set(host, queue)
  if (queue.active < MAX_PER_HOST) queue.active++
  else await waitForTurn(queue, signal)
  try {
    return await work()
  } finally {
    // A finished request passes its place on directly, so that the count never exceeds the limit.
    const next = queue.waiting.shift()
    if (next) next()
    else if (--queue.active === 0) queues.delete(host)
  }
}

function waitForTurn(queue: HostQueue, signal: AbortSignal): Promise<void> {
  return new Promise((go, refuse) => {
    const enter = () => {
      signal.removeEventListener('abort', leave)
      go()
    }
    const leave = () => {
      queue.waiting.splice(queue.waiting.indexOf(enter), 1)
      refuse(signal.reason as Error)
    }
    queue.waiting.push(enter)
    signal.addEventListener('abort', leave, { once: true })
  })
}
