import { relative } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import type { Diagnostic, Io } from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { readTree, type Installed, type Tree } from '../../../core/trust/index.js'
import { pluralize } from '../../lib/base/index.js'
import { toOneLine, createPaint, printable } from '../../lib/terminal/index.js'
import type { Provenance } from './npm_registry.js'
import { permissionsOf, type Permission } from './permissions.js'

/** Everything that executes, connects, reads secrets or judges, escaped; with texts that hide something shown as they are. */
export function consentText(inspection: Inspection, io: Io): string {
  const { bold, dim, yellow } = createPaint(io.stderr, io.env)
  const { name, format, contributions, skills, instructions, agents, diagnostics, root } = inspection
  const powers = permissionsOf(inspection)
  const cleaned = contributions.filter(({ file }) =>
    diagnostics.some(({ code, files }) => code === 'VT_TEXT_CLEANED' && files.includes(file)),
  )
  return [
    `${bold(toOneLine(name))}  ${dim(`${format}, ${pluralize(contributions.length, 'contribution')}, ${pluralize(skills.length, 'skill')}`)}`,
    ...powers.flatMap((power) => powerLines(power)),
    ...(powers.some(({ does }) => does.length > 0) ? [] : ['  runs nothing']),
    ...textLines({ instructions: instructions.map((file) => relative(root, file)), agents }),
    ...diagnostics.map(
      (one) =>
        `  ${yellow(one.code === 'VT_FORMAT_INVALID' ? 'left out' : one.severity)} ${toOneLine(located(one, root))}`,
    ),
    // What a reader is shown differs from what stands there, so the file is shown as it stands.
    ...cleaned.flatMap(({ file }) => [
      dim(`── ${toOneLine(relative(root, file))}, as it stands`),
      printable(readBytes(file).toString()).trimEnd(),
    ]),
    '',
  ].join('\n')
}

/** What a package tells models without being asked, and which agents it brings. */
const textLines = ({
  instructions,
  agents,
}: {
  instructions: readonly string[]
  agents: readonly { name: string; description: string }[]
}): string[] => [
  ...instructions.map((file) => `  tells every model what stands in ${toOneLine(file)}`),
  ...agents.map((agent) => `  agent ${toOneLine(agent.name)}  ${toOneLine(agent.description).slice(0, 120)}`),
]

/** Where a package was built, as its registry attests; nothing where it says nothing. */
export function provenanceLine(provenance: Provenance | string | undefined): string[] {
  if (provenance === undefined) return []
  if (typeof provenance === 'string') return [`built   ${toOneLine(provenance)}`]
  const { repository, commit, builder, same_bytes } = provenance
  const from = `${repository}${commit === undefined ? '' : ` at ${commit}`}${builder === undefined ? '' : ` by ${builder}`}`
  return [
    `built   from ${toOneLine(from)}, says the attestation of its registry${same_bytes ? '' : ' OF ANOTHER ARCHIVE THAN THIS ONE'}; \`npm audit signatures\` checks who signed it`,
  ]
}

/** What is said of a part of a plugin, behind the file and the line that it is about. */
export function located({ message, files: [file = ''] }: Pick<Diagnostic, 'message' | 'files'>, root: string): string {
  const way = relative(root, file)
  return way === '' || way.startsWith('..') || message.includes(file.replace(/:\d+$/, ''))
    ? message
    : `${way}: ${message}`
}

const powerLines = ({ id, serves, effects, does, reads }: Permission): string[] => [
  `  ${toOneLine(id)}${serves === undefined ? '' : `  ${toOneLine(serves)}`}${effects ? `  [${effects.join(', ')}]` : ''}`,
  ...does.map((deed) => `    ${toOneLine(deed)}`),
  ...(reads.length > 0 ? [`    reads ${toOneLine(reads.join(', '))}`] : []),
]

/** What a user would have to look at again; `were` are the files that were agreed to. */
export function differenceText(before: Inspection | undefined, after: Inspection, were: Tree['files']): string {
  const lines = (inspection: Inspection) =>
    permissionsOf(inspection).flatMap((power) =>
      powerLines(power).map((line, at) => (at === 0 ? line : `${line}  (${power.id})`)),
    )
  const [was, is] = [before ? lines(before) : [], lines(after)]
  const changed = [
    ...was.filter((line) => !is.includes(line)).map((line) => `-${line}`),
    ...is.filter((line) => !was.includes(line)).map((line) => `+${line}`),
  ]
  const files = changedFiles(were, readTree(after.root).files)
  return [...(changed.length > 0 ? changed : ['  It may do the same as before.']), ...files, ''].join('\n')
}

function changedFiles(was: Tree['files'], is: Tree['files']): string[] {
  const all = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((path) => was[path] !== is[path])
  const lines = all.map((path) => `${path in was ? (path in is ? '~' : '-') : '+'} ${toOneLine(path)}`)
  return lines.length > 20 ? [...lines.slice(0, 20), `  and ${lines.length - 20} more files`] : lines
}

/** The document of `show --json`. */
export function infoDocument(
  inspection: Inspection,
  installed: Installed | undefined,
  states: ReadonlyMap<string, { state: string; reason?: string }>,
) {
  const { name, root, format, contributions, invalid, skills, instructions, agents, diagnostics } = inspection
  const powers = new Map(permissionsOf(inspection).map((power) => [power.id, power]))
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

export function infoText(
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
  }: ReturnType<typeof infoDocument>,
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
      ...powerLines(one as Permission),
      `    ${one.state ?? 'not loaded'}${one.reason ? `: ${toOneLine(one.reason)}` : ''}`,
      ...('description' in one && one.description ? [`    ${dim(toOneLine(one.description))}`] : []),
    ]),
    ...skills.map((skill) => `  skill ${toOneLine(skill.name)}  ${dim(toOneLine(skill.description))}`),
    ...textLines({ instructions, agents }),
    ...diagnostics.map((one) => `  ${one.severity} ${toOneLine(located(one, root))}`),
    '',
  ].join('\n')
}
