import { Socket } from 'node:net'
import { copyAnswer } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type { Problem } from '../../../core/index.js'
import { importPluginModule } from '../../../core/trust/index.js'
import { closeSessions, createContextLink, type ContextData, type ContextLink } from './context.js'
import { openFramePipe, type Frame } from './frames.js'

const pipe = new Socket({ fd: 3 })
const modules = new Map<string, Record<string, unknown>>()
const running = new Map<number, ContextLink>()

const { send } = openFramePipe(
  pipe,
  (frame) => void take(frame),
  () => process.exit(1),
)
pipe.on('close', () => process.exit(0))
send({ t: 'ready' })

async function take(frame: Frame): Promise<void> {
  const number = Number(frame['n'])
  if (frame.t === 'answer' || frame.t === 'abort') return running.get(number)?.take(frame)
  if (frame.t === 'end') return leave()
  try {
    send({ t: 'done', n: number, ...(await act(frame, number)) })
  } catch (error) {
    send({ t: 'done', n: number, error: plainError(error) })
  } finally {
    running.delete(number)
  }
}

async function act(frame: Frame, number: number): Promise<object> {
  if (frame.t === 'load') return load(toText(frame['file']))
  if (frame.t === 'close') return closeSessions([toText(frame['session'])]).then(() => ({}))
  return call(frame, number)
}

async function load(file: string): Promise<{ complete: boolean }> {
  const module = (await importPluginModule(file, { alone: true }).catch((error: unknown) => {
    throw new Error(`throws on import: ${toText(error instanceof Error ? error.message : error).split('\n')[0]}`)
  })) as Record<string, unknown>
  const main = module['default']
  if (typeof main !== 'function')
    throw new Error(main === undefined ? 'has no default export' : `exports a ${typeof main}, not a function`)
  modules.set(file, module)
  return { complete: typeof module['complete'] === 'function' }
}

async function call(
  { id, file, name, args, context }: Frame,
  number: number,
): Promise<{ value?: unknown; none?: boolean }> {
  const main = modules.get(toText(file))![toText(name)] as (...args: unknown[]) => unknown
  const link: ContextLink = createContextLink(context as ContextData | undefined, (frame) =>
    send({ ...frame, n: number }),
  )
  running.set(number, link)
  const value = await main(...(args as unknown[]), ...(context ? [link.context] : []))
  return value === undefined ? { none: true } : { value: copyAnswer(toText(id), value) }
}

/**
 * Converts an error to data. An unreadable error, or one with details that no message can hold, still fails its own
 * call.
 */
function plainError(error: unknown): object {
  try {
    const {
      message,
      stack,
      problem: known,
    } = (error instanceof Error ? error : { message: toText(error) }) as {
      message: string
      stack?: string
      problem?: Problem
    }
    return {
      message: toText(message),
      ...(stack && { stack: toText(stack) }),
      ...(known && { problem: plainProblem(known) }),
    }
  } catch {
    return { message: 'throws an error that cannot be read' }
  }
}

function plainProblem(known: Problem): Problem {
  try {
    return copyAnswer('', known)
  } catch {
    const { details: _, ...rest } = known
    return copyAnswer('', rest)
  }
}

async function leave(): Promise<void> {
  await closeSessions()
  const disposing = [...modules.values()].map(async ({ dispose }) =>
    typeof dispose === 'function' ? (dispose as () => unknown)() : undefined,
  )
  await Promise.allSettled(disposing)
  process.exit(0)
}
