import { ok, type Context, type Result } from '../../../core/index.js'
import { comparePaths, pluralize, takeFitting, listSearchNotices } from '../../lib/base/index.js'
import { renderLines } from '../../lib/grep/index.js'
import { createLineReader } from '../../lib/process/index.js'
import { listFiles, openToSearch } from '../../lib/search/index.js'
import { readCurrentMatch } from './current_match.js'
import { runProject } from './project.js'
import { toMatch } from './shape.js'
import type { Native, StructuralCall } from './types.js'

/** Workflow `scan`: returns the findings of the rules of the project; fixes nothing. `undefined` without ast-grep. */
export async function runScan({ input, given }: StructuralCall, context: Context): Promise<Result | undefined> {
  const found: Native[] = []
  const stream = createLineReader((line) => void found.push(JSON.parse(line.toString()) as Native), 67_108_864)
  const globs = [input.globs ?? []].flat().map((glob) => `--globs=${glob}`)
  const args = ['scan', '--json=stream', '--include-metadata', '--color=never', ...globs, '--', input.path]
  if (!(await runProject(context, input, args, stream.take))) return undefined
  const known = await listSearchedFiles(input.path, context)
  const all = found
    .map((native) => ({ ...native, file: native.file.replace(/^\.\//, '') }))
    .filter(({ file }) => known.files.has(file))
    .sort(
      (a, b) =>
        comparePaths(a.file, b.file) ||
        a.range.byteOffset.start - b.range.byteOffset.start ||
        (a.ruleId! < b.ruleId! ? -1 : 1),
    )
  const page: Native[] = []
  let gone = 0
  for (const native of all.slice(input.skip, input.skip + input.max_results)) {
    const found = await readCurrentMatch(context, native, input.context_lines)
    found ? page.push(found) : gone++
  }
  const findings = takeFitting(page.map(toFinding))
  const end = input.skip + (findings.length < page.length ? findings.length : page.length + gone)
  const truncated = end < all.length
  const by_severity = tally(all.map(({ severity }) => severity ?? 'hint'))
  const output = {
    workflow: 'scan',
    findings,
    truncated,
    backend: 'ast-grep',
    config_path: input.config_path,
    path: input.path,
    summary: {
      total_findings: all.length,
      returned_findings: findings.length,
      truncated,
      has_error_findings: Object.hasOwn(by_severity, 'error'),
      by_severity,
      by_rule: tally(all.map(({ ruleId }) => ruleId!)),
    },
    ...(truncated && { next: { tool: 'unified_search', input: { action: 'structural', ...given, skip: end } } }),
  }
  const lines = findings.flatMap((finding) => renderFinding(finding, input.context_lines))
  const severities = Object.entries(by_severity).map(([severity, number]) => pluralize(number, severity))
  const tail = `${pluralize(all.length, 'finding')}${severities.length > 0 ? ` (${severities.join(', ')})` : ''}`
  const text = [...lines, truncated ? `${findings.length} of ${tail}; continue with skip=${end}` : tail].join('\n')
  const notices = listSearchNotices({ ...known.listing, gone })
  return ok(output, { text, ...(notices.length > 0 && { notices }) })
}

/** Lists the files that a search of the path may read; findings in other files are dropped. */
async function listSearchedFiles(path: string, context: Context) {
  await using target = await openToSearch(context, path)
  if (target.kind === 'file') return { files: new Set([path]), listing: { incomplete: false, complaints: [] } }
  const listing = await listFiles(context, target, { include_hidden: true })
  return { files: new Set(listing.files), listing }
}

function toFinding(native: Native) {
  const { replacementOffsets: _, charCount: __, ...match } = toMatch(native)
  return {
    ...match,
    rule_id: native.ruleId!,
    severity: native.severity ?? 'hint',
    message: native.message ?? '',
    note: native.note ?? null,
    ...(native.metadata && { metadata: native.metadata }),
    labels: native.labels ?? [],
  }
}

const renderFinding = (finding: ReturnType<typeof toFinding>, context_lines: number): string[] => [
  `${finding.file}:${finding.line_number} ${finding.severity} ${finding.rule_id}: ${finding.message}`,
  ...(finding.note ? [`  ${finding.note}`] : []),
  ...(context_lines > 0 ? renderLines(finding, context_lines) : []),
]

function tally(words: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}
