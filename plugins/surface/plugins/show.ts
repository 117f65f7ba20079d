import { relative } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import type { Diagnostic, Io } from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { readTree, type Installed, type Tree } from '../../../core/trust/index.js'
import { pluralize } from '../../lib/base/index.js'
import { toOneLine, createPaint, printable } from '../../lib/terminal/index.js'
import type { Provenance } from './npm_registry.js'
import { listPermissions, type Permission } from './permissions.js'

/** Renders the permissions of a plugin for consent, escaped. Files with hidden characters are printed whole. */
export function renderConsent(inspection: Inspection, io: Io): string {
  const { bold, dim, yellow } = createPaint(io.stderr, io.env)
  const { name, format, contributions, skills, instructions, agents, diagnostics, root } = inspection
  const powers = listPermissions(inspection)
  const cleaned = contributions.filter(({ file }) =>
    diagnostics.some(({ code, files }) => code === 'VT_TEXT_CLEANED' && files.includes(file)),
  )
  return [
    `${bold(toOneLine(name))}  ` +
      `${dim(`${format}, ${pluralize(contributions.length, 'contribution')}, ${pluralize(skills.length, 'skill')}`)}`,
    ...powers.flatMap((power) => renderPermission(power)),
    ...(powers.some(({ does }) => does.length > 0) ? [] : ['  runs nothing']),
    ...renderTexts({ instructions: instructions.map((file) => relative(root, file)), agents }),
    ...diagnostics.map(
      (one) =>
        `  ${yellow(one.code === 'VT_FORMAT_INVALID' ? 'skipped' : one.severity)} ` +
        `${toOneLine(formatDiagnostic(one, root))}`,
    ),
    // Loading cleans such a file, so the original is shown.
    ...cleaned.flatMap(({ file }) => [
      dim(`── ${toOneLine(relative(root, file))}, original text`),
      printable(readBytes(file).toString()).trimEnd(),
    ]),
    '',
  ].join('\n')
}

/** Renders the instructions that a package gives to models, and its agents. */
const renderTexts = ({
  instructions,
  agents,
}: {
  instructions: readonly string[]
  agents: readonly { name: string; description: string }[]
}): string[] => [
  ...instructions.map((file) => `  gives every model the instructions in ${toOneLine(file)}`),
  ...agents.map((agent) => `  agent ${toOneLine(agent.name)}  ${toOneLine(agent.description).slice(0, 120)}`),
]

/** Renders the build origin of a package by the attestation of its registry; empty without one. */
export function renderProvenance(provenance: Provenance | string | undefined): string[] {
  if (provenance === undefined) return []
  if (typeof provenance === 'string') return [`built   ${toOneLine(provenance)}`]
  const { repository, commit, builder, same_bytes } = provenance
  const from =
    `${repository}${commit === undefined ? '' : ` at ${commit}`}` + (builder === undefined ? '' : ` by ${builder}`)
  return [
    `built   from ${toOneLine(from)}, by the attestation of its ` +
      `registry${same_bytes ? '' : ' FOR ANOTHER ARCHIVE'}; \`npm audit signatures\` checks who signed it`,
  ]
}

/** Formats a diagnostic of a plugin, preceded by its file and line. */
export function formatDiagnostic(
  { message, files: [file = ''] }: Pick<Diagnostic, 'message' | 'files'>,
  root: string,
): string {
  const path = relative(root, file)
  return path === '' || path.startsWith('..') || message.includes(file.replace(/:\d+$/, ''))
    ? message
    : `${path}: ${message}`
}

const renderPermission = ({ id, serves, effects, does, reads }: Permission): string[] => [
  `  ${toOneLine(id)}${serves === undefined ? '' : `  ${toOneLine(serves)}`}` +
    `${effects ? `  [${effects.join(', ')}]` : ''}`,
  ...does.map((deed) => `    ${toOneLine(deed)}`),
  ...(reads.length > 0 ? [`    reads ${toOneLine(reads.join(', '))}`] : []),
]

/** Renders the changes that need consent again. `agreedFiles` are the files of the last consent. */
export function renderDifference(
  before: Inspection | undefined,
  after: Inspection,
  agreedFiles: Tree['files'],
): string {
  const listLines = (inspection: Inspection) =>
    listPermissions(inspection).flatMap((power) =>
      renderPermission(power).map((line, at) => (at === 0 ? line : `${line}  (${power.id})`)),
    )
  const [was, is] = [before ? listLines(before) : [], listLines(after)]
  const changed = [
    ...was.filter((line) => !is.includes(line)).map((line) => `-${line}`),
    ...is.filter((line) => !was.includes(line)).map((line) => `+${line}`),
  ]
  const files = listChangedFiles(agreedFiles, readTree(after.root).files)
  return [...(changed.length > 0 ? changed : ['  The permissions have not changed.']), ...files, ''].join('\n')
}

function listChangedFiles(was: Tree['files'], is: Tree['files']): string[] {
  const all = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((path) => was[path] !== is[path])
  const lines = all.map((path) => `${path in was ? (path in is ? '~' : '-') : '+'} ${toOneLine(path)}`)
  return lines.length > 20 ? [...lines.slice(0, 20), `  and ${lines.length - 20} more files`] : lines
}

/** Creates the document of `show --json`. */
export function createInfoDocument(
  inspection: Inspection,
  installed: Installed | undefined,
  states: ReadonlyMap<string, { state: string; reason?: string }>,
) {
  const { name, root, format, contributions, invalid, skills, instructions, agents, diagnostics } = inspection
  const powers = new Map(listPermissions(inspection).map((power) => [power.id, power]))
  return {
    name,
    format,
    root,
    ...(installed && {
      source: installed.source,
      tree: installed.tree,
      executes: installed.executes,
      version: installed.version,
    }),
    contributions: [
      ...contributions.map(({ id, kind, file, manifest }) => ({
        kind,
        file: relative(root, file),
        description: manifest.description,
        version: manifest.version,
        license: manifest.license,
        ...powers.get(id)!,
        ...states.get(id),
      })),
      ...invalid.map(({ id, kind, file, state, reason }) => ({
        kind,
        file: relative(root, file),
        id,
        state,
        reason,
        does: [],
        reads: [],
      })),
    ],
    skills: skills.map(({ name, description }) => ({ name, description })),
    instructions: instructions.map((file) => relative(root, file)),
    agents: agents.map(({ name, description }) => ({ name, description })),
    unsupported: diagnostics.filter(({ code }) => code === 'VT_FORMAT_UNSUPPORTED').map(({ message }) => message),
    diagnostics,
  }
}

export function renderInfo(
  {
    name,
    format,
    root,
    contributions,
    skills,
    instructions,
    agents,
    diagnostics,
    ...lock
  }: ReturnType<typeof createInfoDocument>,
  io: Io,
): string {
  const { bold, dim } = createPaint(io.stdout, io.env)
  const { source, tree } = lock as { source?: Installed['source']; tree?: string }
  return [
    `${bold(toOneLine(name))}  ${dim(format)}`,
    `folder  ${toOneLine(root)}`,
    `source  ${source ? toOneLine(Object.values(source).join(' ')) : 'not installed by `vtcode plugins add`'}`,
    ...(tree ? [`tree    ${tree}`] : []),
    ...contributions.flatMap((one) => [
      ...renderPermission(one as Permission),
      `    ${one.state ?? 'not loaded'}${one.reason ? `: ${toOneLine(one.reason)}` : ''}`,
      ...('description' in one && one.description ? [`    ${dim(toOneLine(one.description))}`] : []),
    ]),
    ...skills.map((skill) => `  skill ${toOneLine(skill.name)}  ${dim(toOneLine(skill.description))}`),
    ...renderTexts({ instructions, agents }),
    ...diagnostics.map((one) => `  ${one.severity} ${toOneLine(formatDiagnostic(one, root))}`),
    '',
  ].join('\n')
}
