import type { TaskStatus, Tracker, TrackerItem } from '../base/index.js'
import { checkTracker, marks, mostItems } from './tracker.js'

const fields = ['files', 'outcome', 'verify'] as const
const bounds = { title: 200, description: 300, outcome: 500, files: 50, verify: 10, line: 1000, notes: 16_384 }
const statuses = Object.fromEntries(Object.entries(marks).map(([status, mark]) => [mark, status])) as Record<
  string,
  TaskStatus
>

/** Formats the tracker as Markdown, which people may edit. */
export function formatTracker({ title, items, notes }: Tracker): string {
  const lines = items.flatMap((item) => [
    `- [${marks[item.status]}] ${item.description}`,
    ...fields.flatMap((field) => formatField(field, item[field])),
  ])
  return `${[`# ${title}`, '', ...lines, ...(notes === undefined ? [] : ['', '## Notes', notes])].join('\n')}\n`
}

function formatField(field: string, value: string | readonly string[] | undefined): string[] {
  if (value === undefined) return []
  return typeof value === 'string' || value.length === 1
    ? [`  ${field}: ${[value].flat()[0]}`]
    : [`  ${field}:`, ...value.map((one) => `    - ${one}`)]
}

/** A line that is no part of a tracker; line numbers are 1-based. */
export class MalformedLine extends Error {
  constructor(
    readonly line: number,
    problem: string,
  ) {
    super(`Line ${line}: ${problem}`)
  }
}

/**
 * Parses the text of `formatTracker` and the edits of people. Throws MalformedLine, and VtError VT_INPUT_INVALID for
 * duplicates and for a tracker that is too large.
 */
export function parseTracker(text: string): Tracker {
  return checkTracker(new Reader(text).read())
}

class Reader {
  private readonly lines: string[]
  private at = 0

  constructor(text: string) {
    this.lines = text.split('\n').map((line) => line.trimEnd())
  }

  read(): Tracker {
    this.skipEmpty()
    const title = /^# +([^]+)$/.exec(this.line)?.[1]?.trim()
    if (!title) throw this.createError('a title is needed, such as `# Add retry to client`.')
    this.checkLength('the title', title, bounds.title)
    this.at += 1
    const items: TrackerItem[] = []
    let notes: string | undefined
    for (this.skipEmpty(); this.at < this.lines.length; this.skipEmpty()) {
      if (/^## +Notes$/.test(this.line)) {
        notes = this.lines
          .slice(this.at + 1)
          .join('\n')
          .trim()
        this.checkLength('the notes', notes, bounds.notes)
        break
      }
      if (items.length === mostItems) throw this.createError(`a tracker has at most ${mostItems} items.`)
      items.push(this.readItem())
    }
    return { title, items, ...(notes && { notes }) }
  }

  private readItem(): TrackerItem {
    const [, mark = '', text = ''] = /^- \[(.)\] +([^]+)$/.exec(this.line) ?? []
    const status = statuses[mark]
    const description = text.trim()
    if (!status || description === '')
      throw this.createError(
        'an item is `- [ ] what to do`, with [ ] pending, [/] in progress, [x] completed, [!] blocked.',
      )
    this.checkLength('the description', description, bounds.description)
    this.at += 1
    const item: TrackerItem = { description, status }
    for (let field = this.readField(); field; field = this.readField()) Object.assign(item, field)
    return item
  }

  private readField(): Partial<TrackerItem> | undefined {
    const [, name, text = ''] = /^ {2}(files|outcome|verify):(?: +([^]*))?$/.exec(this.line) ?? []
    if (name === undefined) return undefined
    this.at += 1
    if (name === 'outcome') return text === '' ? {} : { outcome: this.checkLength('the outcome', text, bounds.outcome) }
    const values = text === '' ? this.readList() : [text]
    const most = bounds[name as 'files' | 'verify']
    if (values.length > most) throw this.createError(`${name} has at most ${most} lines.`)
    for (const value of values) this.checkLength(name, value, bounds.line)
    return values.length > 0 ? { [name]: values } : {}
  }

  private readList(): string[] {
    const values: string[] = []
    for (let one = /^ {4}- ([^]+)$/.exec(this.line); one; one = /^ {4}- ([^]+)$/.exec(this.line)) {
      values.push(one[1]!.trim())
      this.at += 1
    }
    return values
  }

  private get line(): string {
    return this.lines[this.at] ?? ''
  }
  private skipEmpty(): void {
    while (this.at < this.lines.length && this.line === '') this.at += 1
  }
  private checkLength(what: string, text: string, most: number): string {
    if (text.length > most)
      throw this.createError(`${what} has ${text.length} characters, at most ${most} are possible.`)
    return text
  }
  private createError(problem: string): MalformedLine {
    return new MalformedLine(this.at + 1, problem)
  }
}
