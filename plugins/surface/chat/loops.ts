import type { Io, Kernel } from '../../../core/index.js'
import { printFailure, saidWhen } from '../../agent/cli/index.js'
import type { Agent } from '../../agent/index.js'
import { columns, oneLine } from '../../lib/terminal/index.js'

type Task = ReturnType<Agent['tasks']['list']>[number]

/** `/loop` and `/remind`: what begins by itself while this chat is open. */
export async function scheduleCommand(
  kernel: Kernel,
  { tasks }: Agent,
  io: Io,
  { word, rest }: { word: string; rest: string },
): Promise<void> {
  const [, id] = /^cancel\s+(\S+)$/.exec(rest) ?? []
  try {
    if (word === '/loop' && (rest === '' || rest === 'list'))
      io.stderr.write(tasks.list().length === 0 ? 'Nothing begins by itself.\n' : columns(tasks.list().map(rowOf)))
    else if (word === '/loop' && id !== undefined) io.stderr.write(`${await tasks.cancel(id)} cancelled.\n`)
    else io.stderr.write(told(await (word === '/loop' ? tasks.loop(rest) : tasks.remind(rest))))
  } catch (error) {
    printFailure(kernel, error, io)
  }
}

const rowOf = (task: Task): string[] => [task.id, saidWhen(task), task.next, oneLine(task.prompt)]

/** What was understood: an interval may be another one than was said. */
function told(task: Task): string {
  const when =
    task.ends === undefined
      ? `Once at ${task.next}`
      : `${saidWhen(task).replace(/^e/, 'E')}, first at ${task.next}, until ${task.ends}`
  return `${oneLine(`${when}: ${task.prompt} (/loop cancel ${task.id} ends it)`)}\n`
}

/** Resolves with `true` when something is due; never where nothing comes. `stop` lets go of the clock. */
export function whenDue({ tasks }: Agent): { due: Promise<true>; stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const due = new Promise<true>((resolve) => {
    const look = (): void => {
      const left = tasks.due()
      if (left === 0) return resolve(true)
      // The clock may be set, and another task may be due earlier: it is looked at twice a minute.
      timer = setTimeout(look, Math.min(left ?? 30_000, 30_000))
    }
    look()
  })
  return { due, stop: () => clearTimeout(timer) }
}
