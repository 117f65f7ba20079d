import { fail, ok, problem, type Answers, type Context, type Handler, type Question } from '../core/index.js'

type AskOutput = { answers: Answers } | { cancelled: true }

/** Asks the person at the surface. Without a person, the error asks the model to decide. */
const requestUserInput: Handler<{ questions: Question[] }, AskOutput> = async ({ input, mode }, context) => {
  requireDistinct(input.questions)
  const questions = input.questions.map(sortRecommendedFirst)
  if (!context.ask || (mode === 'full-auto' && !isOnList(context))) return unavailable()
  let answers: Answers | undefined
  try {
    answers = await context.ask(questions, context.signal)
  } catch {
    if (context.signal.aborted) throw problem('VT_CALL_ABORTED')
    return unavailable()
  }
  if (!answers)
    return ok(
      { cancelled: true },
      { text: 'The user closed the question without an answer. Continue without it, or stop.' },
    )
  const checked = Object.fromEntries(questions.map((question) => [question.id, toAnswer(question, answers)]))
  return ok(
    { answers: checked },
    { text: questions.map((question) => formatLine(question, checked[question.id]!)).join('\n') },
  )
}
export default requestUserInput

const unavailable = () => fail('VT_ASK_UNAVAILABLE', 'No person is available here, so the question was not asked.')

/** Returns whether the list of full-auto allows questions: full-auto runs unattended otherwise. */
function isOnList({ settings, slot }: Context): boolean {
  return [...slot.names, ...slot.aliases, 'ask'].some((name) =>
    settings.automation.full_auto.allowed_tools.includes(name),
  )
}

/** Throws if an id or a label occurs twice, which a schema cannot express. */
function requireDistinct(questions: readonly Question[]): void {
  const places = [
    ...questions.map(({ id }, at) => ({ list: 'id', text: id, place: `questions[${at}].id` })),
    ...questions.flatMap(({ options = [] }, at) =>
      options.map(({ label }, option) => ({
        list: `${at}`,
        text: label,
        place: `questions[${at}].options[${option}].label`,
      })),
    ),
  ]
  const seen = new Map<string, string>()
  for (const { list, text, place } of places) {
    const before = seen.get(`${list} ${text}`)
    if (before)
      throw problem('VT_INPUT_INVALID', {
        problem: `${place} is ${JSON.stringify(text)}, as ${before} is; each must be different.`,
      })
    seen.set(`${list} ${text}`, place)
  }
}

const isRecommended = ({ label }: { label: string }): boolean => /\(recommended\)$/i.test(label.trimEnd())

function sortRecommendedFirst(question: Question): Question {
  const { options } = question
  return options
    ? {
        ...question,
        options: [...options.filter(isRecommended), ...options.filter((option) => !isRecommended(option))],
      }
    : question
}

type Answer = Answers[string]

/** Returns an answer of a surface with unknown labels moved to `other`. */
function toAnswer({ id, options = [] }: Question, answers: Answers): Answer {
  const answer = Object.hasOwn(answers, id) ? answers[id] : undefined
  const isOffered = (label: string): boolean => options.some((option) => option.label === label)
  const selected = (answer?.selected ?? []).map(String)
  const other = [...selected.filter((label) => !isOffered(label)), answer?.other ?? ''].join(' ').trim()
  return { selected: selected.filter(isOffered), ...(other && { other }) }
}

function formatLine({ header }: Question, { selected, other }: Answer): string {
  return `${header}: ${[...selected, ...(other ? [JSON.stringify(other)] : [])].join(', ') || 'no answer'}`
}
