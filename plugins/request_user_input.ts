import { fail, ok, problem, type Answers, type Context, type Handler, type Question } from '../core/index.js'

type AskOutput = { answers: Answers } | { cancelled: true }

/** Puts the questions to whoever sits at the surface; without anybody the model is told to decide. */
const requestUserInput: Handler<{ questions: Question[] }, AskOutput> = async ({ input, mode }, context) => {
  refuseTwins(input.questions)
  const questions = input.questions.map(recommendedFirst)
  if (!context.ask || (mode === 'full-auto' && !onList(context))) return unavailable()
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
  const checked = Object.fromEntries(questions.map((question) => [question.id, answerTo(question, answers)]))
  return ok(
    { answers: checked },
    { text: questions.map((question) => line(question, checked[question.id]!)).join('\n') },
  )
}
export default requestUserInput

const unavailable = () => fail('VT_ASK_UNAVAILABLE', 'Nobody can be asked here, so the question was not put.')

/** Full-auto runs unattended: nobody is waited for unless its list says that somebody is there. */
function onList({ settings, slot }: Context): boolean {
  return [...slot.names, ...slot.aliases, 'ask'].some((name) =>
    settings.automation.full_auto.allowed_tools.includes(name),
  )
}

/** What a schema cannot say: ids name answers, labels name choices, so neither may occur twice. */
function refuseTwins(questions: readonly Question[]): void {
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

function recommendedFirst(question: Question): Question {
  const { options } = question
  return options
    ? {
        ...question,
        options: [...options.filter(isRecommended), ...options.filter((option) => !isRecommended(option))],
      }
    : question
}

type Answer = Answers[string]

/** What a surface says is believed as far as it fits the question: a label that was never offered is the user's own words. */
function answerTo({ id, options = [] }: Question, answers: Answers): Answer {
  const answer = Object.hasOwn(answers, id) ? answers[id] : undefined
  const offered = (label: string): boolean => options.some((option) => option.label === label)
  const selected = (answer?.selected ?? []).map(String)
  const other = [...selected.filter((label) => !offered(label)), answer?.other ?? ''].join(' ').trim()
  return { selected: selected.filter(offered), ...(other && { other }) }
}

function line({ header }: Question, { selected, other }: Answer): string {
  return `${header}: ${[...selected, ...(other ? [JSON.stringify(other)] : [])].join(', ') || 'no answer'}`
}
