import { block } from '../../../core/text/index.js'
import type { ChildReport, ChildStatus } from '../base/index.js'
import { hasEnded, type PartEntry } from './state.js'

const longest = 2000
const mostFiles = 20
const sections = {
  summary: 'summary',
  facts: 'facts',
  'touched files': 'touched_files',
  verification: 'verification',
  'open questions': 'open_questions',
} as const
const listed = ['facts', 'touched_files', 'verification', 'open_questions'] as const
const heading = /^(?:#{1,6}\s*|\*\*)?(summary|facts|touched files|verification|open questions)(?:\*\*)?:?(?:\*\*)?\s*$/i

/** The report of an agent that ended with a text: its sections, else how it begins. */
export function reportIn(text: string): ChildReport {
  const found: Partial<Record<keyof ChildReport, string[]>> = {}
  let lines: string[] | undefined
  for (const line of text.split('\n')) {
    const title = heading.exec(line.trim())?.[1]?.toLowerCase() as keyof typeof sections | undefined
    if (title !== undefined) lines = found[sections[title]] = []
    else if (line.trim() !== '') lines?.push(line.trim())
  }
  const listOf = (key: (typeof listed)[number]) => {
    const items = (found[key] ?? []).map((line) => line.replace(/^(?:[-*•]|\d+[.)])\s+/, '').slice(0, 500)).slice(0, 10)
    return items.length > 0 ? { [key]: items } : {}
  }
  const summary = (found.summary ?? []).join('\n').slice(0, longest)
  return { summary: summary === '' ? text.trim().slice(0, 500) : summary, ...Object.assign({}, ...listed.map(listOf)) }
}

/** The input of a call that reports; `undefined` for what is none. */
export function asReport(input: unknown): ChildReport | undefined {
  const { summary, ...rest } = (input ?? {}) as Record<string, unknown>
  if (typeof summary !== 'string') return undefined
  const lists = Object.entries(rest).filter(
    ([key, value]) =>
      (listed as readonly string[]).includes(key) &&
      Array.isArray(value) &&
      value.every((one) => typeof one === 'string'),
  )
  return { summary, ...Object.fromEntries(lists) }
}

/** A report as a model reads it, which is told that nobody checked it. */
export function shownReport(
  { id, agent, label, status, error, worktree, changed_files = [] }: ChildStatus,
  report: ChildReport | undefined,
): string {
  const section = (title: string, items: readonly string[] | undefined) =>
    items && items.length > 0 ? [`${title}:`, ...items.map((item) => `- ${item}`)] : []
  const { summary = '', facts, touched_files, verification, open_questions } = report ?? {}
  const lines = [
    summary,
    ...section('Facts', facts),
    ...section('Touched files', touched_files),
    ...section('Verification', verification),
    ...section('Open questions', open_questions),
  ].filter((line) => line !== '')
  const failed = error ? ` (${error.code}: ${error.message})` : ''
  const files = `${changed_files.slice(0, mostFiles).join(', ')}${changed_files.length > mostFiles ? ' and more' : ''}`
  const apart =
    worktree === undefined
      ? ''
      : files === ''
        ? ' It changed no file.'
        : ` In its worktree, ${worktree}, it changed ${files}; close with merge brings that here.`
  const head = `Unchecked report of ${agent}: ${id}${label === '' ? '' : `, ${label}`}: ${status}${failed}.${apart}`
  return lines.length === 0 ? `${head} It reported nothing.` : `${head}\n${block('report', lines.join('\n'))}`
}

/** What somebody who waited for parts reads of them. */
export function waitedText(parts: readonly PartEntry[], timed_out: boolean): string {
  const lines = parts.map(({ child, report }) =>
    hasEnded(child) ? shownReport(child, report) : `${child.id} (${child.agent}) is ${child.status}.`,
  )
  return [...lines, ...(timed_out ? ['The time is over; they go on.'] : [])].join('\n') || 'There is no agent.'
}

/** All parts, a line each, and how many more there may be. */
export function listedText({
  children,
  slots_left,
  total_left,
}: {
  children: readonly ChildStatus[]
  slots_left: number
  total_left: number
}): string {
  const lines = children.map(({ id, agent, label, status }) => [id, agent, status, label].filter(Boolean).join('  '))
  return [...lines, `${slots_left} more can run at once, ${total_left} more can be started in this run.`].join('\n')
}
