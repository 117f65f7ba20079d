import { block } from '../../../core/text/index.js'
import type { ChildReport, ChildStatus } from '../base/index.js'
import { hasEnded, type PartEntry } from './state.js'

const MAX_SUMMARY_CHARS = 2000
const MAX_FILES = 20
const SECTIONS = {
  summary: 'summary',
  facts: 'facts',
  'touched files': 'touched_files',
  verification: 'verification',
  'open questions': 'open_questions',
} as const
const LIST_KEYS = ['facts', 'touched_files', 'verification', 'open_questions'] as const
const HEADING = /^(?:#{1,6}\s*|\*\*)?(summary|facts|touched files|verification|open questions)(?:\*\*)?:?(?:\*\*)?\s*$/i

/** Parses the report in the last text of an agent: its sections, else its beginning. */
export function parseReport(text: string): ChildReport {
  const found: Partial<Record<keyof ChildReport, string[]>> = {}
  let lines: string[] | undefined
  for (const line of text.split('\n')) {
    const title = HEADING.exec(line.trim())?.[1]?.toLowerCase() as keyof typeof SECTIONS | undefined
    if (title !== undefined) lines = found[SECTIONS[title]] = []
    else if (line.trim() !== '') lines?.push(line.trim())
  }
  const toList = (key: (typeof LIST_KEYS)[number]) => {
    const items = (found[key] ?? []).map((line) => line.replace(/^(?:[-*•]|\d+[.)])\s+/, '').slice(0, 500)).slice(0, 10)
    return items.length > 0 ? { [key]: items } : {}
  }
  const summary = (found.summary ?? []).join('\n').slice(0, MAX_SUMMARY_CHARS)
  return {
    summary: summary === '' ? text.trim().slice(0, 500) : summary,
    ...Object.assign({}, ...LIST_KEYS.map(toList)),
  }
}

/** Parses the input of a call of the report tool; `undefined` if it is no report. */
export function parseReportInput(input: unknown): ChildReport | undefined {
  const { summary, ...rest } = (input ?? {}) as Record<string, unknown>
  if (typeof summary !== 'string') return undefined
  const lists = Object.entries(rest).filter(
    ([key, value]) =>
      (LIST_KEYS as readonly string[]).includes(key) &&
      Array.isArray(value) &&
      value.every((one) => typeof one === 'string'),
  )
  return { summary, ...Object.fromEntries(lists) }
}

/** Renders a report for a model, marked as unchecked. */
export function renderReport(
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
  const files = `${changed_files.slice(0, MAX_FILES).join(', ')}${changed_files.length > MAX_FILES ? ' and more' : ''}`
  const changes =
    worktree === undefined
      ? ''
      : files === ''
        ? ' It changed no file.'
        : ` In its worktree, ${worktree}, it changed ${files}; close with merge copies that here.`
  const head = `Unchecked report of ${agent}: ${id}${label === '' ? '' : `, ${label}`}: ${status}${failed}.${changes}`
  return lines.length === 0 ? `${head} It reported nothing.` : `${head}\n${block('report', lines.join('\n'))}`
}

/** Formats the result of waiting for parts. */
export function formatWaitResult(parts: readonly PartEntry[], timed_out: boolean): string {
  const lines = parts.map(({ child, report }) =>
    hasEnded(child) ? renderReport(child, report) : `${child.id} (${child.agent}) is ${child.status}.`,
  )
  return [...lines, ...(timed_out ? ['The time is over; they continue.'] : [])].join('\n') || 'There is no agent.'
}

/** Formats all parts, one line each, and the number of parts that may still start. */
export function formatAgentList({
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
