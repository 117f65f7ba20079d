import type { Io } from '../../../core/contract/index.js'
import type { Answers, Asker, Question } from '../../../core/shapes/index.js'
import { askAlone, toOneLine, createPaint } from './terminal.js'

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
  const common = toStreams(io, AbortSignal.any([signal, io.signal]))
  const answers: Answers = {}
  for (const question of questions) {
    const message = formatMessage(question, io)
    let chosen: string | symbol = OTHER
    if (question.options) {
      const options = question.options.map(({ label, description }) => ({
        value: label,
        label: toOneLine(label),
        hint: toOneLine(description),
      }))
      chosen = await select({
        ...common,
        message,
        options: [...options, { value: OTHER, label: 'Something else', hint: 'answer in your own words' }],
      })
      if (isCancel(chosen)) return undefined
    }
    if (chosen !== OTHER) {
      answers[question.id] = { selected: [chosen as string] }
      continue
    }
    const answer = await text({ ...common, message: question.options ? 'Your answer' : message })
    if (isCancel(answer)) return undefined
    answers[question.id] = { selected: [], ...(answer && { other: answer }) }
  }
  return answers
}

// Labels are never empty.
const OTHER = ''

function formatMessage({ header, question, focus_area, analysis_hints = [] }: Question, io: Io): string {
  const { bold, dim } = createPaint(io.stderr, io.env)
  const context = [...(focus_area ? [focus_area] : []), ...analysis_hints].map((text) => `\n${dim(toOneLine(text))}`)
  return `${bold(toOneLine(header))}  ${toOneLine(question)}${context.join('')}`
}
