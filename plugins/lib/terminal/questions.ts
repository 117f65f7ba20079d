import { PassThrough } from 'node:stream'
import type { Io } from '../../../core/contract/index.js'
import type { Answers, Asker, Question } from '../../../core/shapes/index.js'
import { askAlone, createPaint, frameText, takeTypedAhead, toOneLine } from './terminal.js'

/** Asks the person at the terminal one question after the other, on stderr. Escape and Ctrl-C decline all of them. */
export const createAsker =
  (terminal: Io): Asker =>
  (questions, signal) =>
    askAlone(terminal, (io) => askQuestions(io, questions, signal))

/** Lets a person choose one of several values; `undefined` for Escape and Ctrl-C. */
export const pickOne = <T extends string>(
  terminal: Io,
  message: string,
  options: readonly { value: T; label: string; hint?: string }[],
  initialValue?: T,
): Promise<T | undefined> =>
  askAlone(terminal, async (io) => {
    const { isCancel, select } = await import('@clack/prompts')
    const rows = options.map(({ value, label, hint }) => ({
      value: value as string,
      label: toOneLine(label),
      ...(hint && { hint: toOneLine(hint) }),
    }))
    const chosen = await select({
      ...toStreams(io),
      message,
      options: rows,
      ...(initialValue !== undefined && { initialValue: initialValue as string }),
    })
    return isCancel(chosen) ? undefined : (chosen as T)
  })

const toStreams = (io: Io, signal = io.signal) => ({
  input: io.stdin as NodeJS.ReadStream,
  output: (io.screen ?? io.stderr) as NodeJS.WriteStream,
  signal,
})

async function askQuestions(io: Io, questions: readonly Question[], signal: AbortSignal): Promise<Answers | undefined> {
  const { isCancel, select, text } = await import('@clack/prompts')
  await takeTypedAhead(io)
  const common = toStreams(io, AbortSignal.any([signal, io.signal]))
  const answers: Answers = {}
  for (const question of questions) {
    common.output.write(renderQuestion(question, io))
    let chosen: string | symbol = OTHER
    if (question.options) {
      const options = question.options.map(({ label, description }) => ({
        value: label,
        label: toOneLine(label),
        hint: toOneLine(description),
      }))
      const list = openListInput(common.input)
      // An Enter that was meant for something else opens the free answer and chooses nothing.
      chosen = await select({
        ...common,
        input: list.input,
        message: 'Your answer',
        options: [...options, { value: OTHER, label: 'Something else', hint: 'answer in your own words' }],
        initialValue: OTHER,
      }).finally(list.close)
      if (isCancel(chosen)) return undefined
    }
    if (chosen !== OTHER) {
      answers[question.id] = { selected: [chosen as string] }
      continue
    }
    const answer = await text({ ...common, message: 'Your own words' })
    if (isCancel(answer)) return undefined
    answers[question.id] = { selected: [], ...(answer && { other: answer }) }
  }
  return answers
}

// Labels are never empty.
const OTHER = ''

/** Renders a question; a frame marks each row of it. */
function renderQuestion({ header, question, focus_area, analysis_hints = [] }: Question, io: Io): string {
  const { bold, dim } = createPaint(io.stderr, io.env)
  const { columns = 80 } = (io.screen ?? io.stderr) as Partial<NodeJS.WriteStream>
  const context = [...(focus_area ? [focus_area] : []), ...analysis_hints]
  const rows = [question, ...context].map((text, at) =>
    frameText(text, columns)
      .split('\n')
      .map((row) => (at === 0 ? row : dim(row))),
  )
  return `${bold(toOneLine(header))}\n${rows.flat().join('\n')}\n`
}

/**
 * Opens the keys of a terminal for a list: letters do nothing, and after them Enter counts only when an arrow has
 * selected again.
 */
function openListInput(stdin: NodeJS.ReadStream): { input: NodeJS.ReadStream; close: () => void } {
  const keys = new PassThrough()
  let selected = true
  const read = (chunk: Buffer | string): void => {
    for (const [key] of String(chunk).matchAll(/\u001b[[O][\d;]*[A-Za-z~]|[^]/g)) {
      const isText = /^[^\p{Cc}]/u.test(key)
      selected = /^\u001b[[O][AB]$/.test(key) || (selected && !isText)
      if (!isText && (selected || !/[\r\n]/.test(key))) keys.write(key)
    }
  }
  stdin.on('data', read)
  stdin.resume()
  const input = Object.assign(keys, { isTTY: true, setRawMode: (on: boolean) => stdin.setRawMode?.(on) })
  return { input: input as unknown as NodeJS.ReadStream, close: () => void stdin.off('data', read).pause() }
}
