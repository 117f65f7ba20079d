import type { Io, Kernel } from '../../../core/index.js'
import { printFailure, formatTiming } from '../../agent/cli/index.js'
import type { Agent } from '../../agent/index.js'
import { formatColumns, toOneLine } from '../../lib/terminal/index.js'

type Task = ReturnType<Agent['tasks']['list']>[number]

/** Runs `/loop` and `/remind`: tasks that start by themselves while this chat is open. */
export async function runScheduleCommand(
  kernel: Kernel,
  { tasks }: Agent,
  io: Io,
  { word, rest }: { word: string; rest: string },
): Promise<void> {
  const [, id] = /^cancel\s+(\S+)$/.exec(rest) ?? []
  try {
    if (word === '/loop' && (rest === '' || rest === 'list'))
      io.stderr.write(
        tasks.list().length === 0 ? 'No tasks are scheduled in this chat.\n' : formatColumns(tasks.list().map(toRow)),
      )
    else if (word === '/loop' && id !== undefined) io.stderr.write(`${await tasks.cancel(id)} cancelled.\n`)
    else io.stderr.write(describeTask(await (word === '/loop' ? tasks.loop(rest) : tasks.remind(rest))))
  } catch (error) {
    printFailure(kernel, error, io)
  }
}

const toRow = (task: Task): string[] => [task.id, formatTiming(task), task.next, toOneLine(task.prompt)]

/** Describes a task with its real interval, which may differ from the requested one. */
function describeTask(task: Task): string {
  const when =
    task.ends === undefined
      ? `Once at ${task.next}`
      : `${formatTiming(task).replace(/^e/, 'E')}, first at ${task.next}, until ${task.ends}`
  return `${toOneLine(`${when}: ${task.prompt} (/loop cancel ${task.id} cancels it)`)}\n`
}

/** Resolves with `true` when a task is due, and never without tasks. `stop` clears the timer. */
export function waitUntilDue({ tasks }: Agent): { due: Promise<true>; stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const due = new Promise<true>((resolve) => {
    const check = (): void => {
      const left = tasks.due()
      if (left === 0) return resolve(true)
      // Check twice a minute: the clock may be set, and a new task may be due earlier.
      timer = setTimeout(check, Math.min(left ?? 30_000, 30_000))
    }
    check()
  })
  return { due, stop: () => clearTimeout(timer) }
}
