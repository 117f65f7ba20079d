import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { findProgram, searchPath } from '../../../core/system/index.js'
import type { Diagnostic, Io, Kernel } from '../../../core/index.js'
import { inspect, type Inspection } from '../../../core/manifests/index.js'
import { formatDocument, toOneLine, createPaint, printable, say } from '../../lib/terminal/index.js'
import { checkReferences } from '../../lib/values/index.js'
import { slotsOnBench } from './bench.js'
import { surroundings } from './install.js'
import { runConfined } from './sandboxed.js'
import { noCounts, tryAll, type ExampleCounts } from './self_test.js'

interface Row {
  id: string
  errors: string[]
  warnings: string[]
  examples: ExampleCounts
}

/** Checks the form of a plugin, then its examples; with `run` in a sandbox. Returns 0 without faults. */
export async function validatePlugin(
  kernel: Kernel,
  path: string,
  { run = false, strict = false, json = false }: { run?: boolean; strict?: boolean; json?: boolean },
  io: Io,
): Promise<number> {
  const place = resolve(path)
  if (!existsSync(place)) {
    say(io, 'error', `'${path}' does not exist.`)
    return 1
  }
  const inspection = await inspect(place, surroundings({ kernel, io }))
  const rows = new Map(rowsOf(inspection).map((row) => [row.id, row]))
  const sound = [...rows.values()].every(({ errors }) => errors.length === 0)
  if (sound) {
    const context = { path: place, inspection, run, io }
    const inputs = new Map((await slotsOnBench(context)).map(({ slot, input }) => [slot, input]))
    for (const contribution of inspection.contributions) {
      const { id, manifest, slot = '' } = contribution
      rows.get(id)?.errors.push(...(await checkReferences(contribution, inputs.get(slot) ?? manifest.input ?? {})))
      rows.get(id)?.warnings.push(...missingProgram(manifest.run?.[0], kernel, io))
    }
    const tried = run ? await runConfined(context, kernel) : { rows: await tryAll(context) }
    for (const { id, examples, errors } of tried.rows) {
      const row = rows.get(id)
      row?.errors.push(...errors)
      if (row) row.examples = examples
    }
    if (tried.open !== undefined)
      say(io, 'warning', `There is no sandbox here: ${tried.open}. The examples ran with your rights.`)
    if (tried.refused !== undefined)
      rows.set('', { ...empty(''), errors: [`Its examples did not run: ${toOneLine(tried.refused)}.`] })
  }
  addGeneral(rows, general(inspection))
  const bad = [...rows.values()].some((row) => isBad(row, strict))
  const contributions = [...rows.values()].map((row) => (row.id === '' ? { ...row, id: inspection.name } : row))
  const document = {
    plugin: inspection.name,
    format: inspection.format,
    skills: inspection.skills.map(({ name }) => name),
    contributions,
  }
  io.stdout.write(json ? formatDocument(document) : render(document, bad, io))
  return bad ? 1 : 0
}

function addGeneral(rows: Map<string, Row>, whole: Row): void {
  whole.errors.push(...(rows.get('')?.errors ?? []))
  if (whole.errors.length + whole.warnings.length > 0) rows.set('', whole)
}

/** A program that this machine lacks is no fault of the plugin. */
function missingProgram(program: unknown, { workspace }: Kernel, { env }: Io): string[] {
  if (typeof program !== 'string' || !/^[^/\\{]+$/.test(program)) return []
  if (findProgram(program, searchPath(env['PATH'], workspace))) return []
  return [
    `The program '${program}' is not on the search path here. \`requires: { bin: [${program}] }\` says that it takes it.`,
  ]
}

const empty = (id: string): Row => ({ id, errors: [], warnings: [], examples: noCounts() })

/** What nobody here honours is no fault of a package, but whoever looks at it wants to know. */
const levelOf = ({ code, severity }: Diagnostic): Diagnostic['severity'] =>
  code.startsWith('VT_FORMAT_') ? 'warning' : severity

const isBad = ({ errors, warnings, examples }: Row, strict: boolean): boolean =>
  errors.length > 0 || examples.failed > 0 || (strict && warnings.length > 0)

function rowsOf({ root, contributions, invalid, diagnostics }: Inspection): Row[] {
  const about = (file: string) =>
    diagnostics.filter(({ files }) => files.some((one) => one === file || one.startsWith(`${file}:`)))
  const textOf = ({ message, files: [file] }: Diagnostic) => (file ? `${relative(root, file)}: ${message}` : message)
  const good = contributions.map(({ id, file }) => ({
    ...empty(id),
    warnings: about(file)
      .filter((one) => levelOf(one) !== 'info')
      .map(textOf),
  }))
  const bad = invalid.map(({ id, file, state, reason = '' }) => {
    const warnings = about(file).map(textOf)
    const texts = warnings.length > 0 ? warnings : [reason]
    // What this machine lacks is no fault of the plugin.
    return state === 'invalid' ? { ...empty(id), errors: texts } : { ...empty(id), warnings: texts }
  })
  return [...good, ...bad]
}

/** What is said of no contribution in particular. */
function general({ contributions, invalid, skills, diagnostics, root, name }: Inspection): Row {
  const files = [...contributions, ...invalid].map(({ file }) => file)
  const rest = diagnostics.filter(
    (one) => !one.files.some((file) => files.some((known) => file === known || file.startsWith(`${known}:`))),
  )
  const texts = (severity: Diagnostic['severity']) =>
    rest
      .filter((one) => levelOf(one) === severity)
      .map(({ message, files: [file] }) => (file ? `${relative(root, file) || name}: ${message}` : message))
  const nothing =
    contributions.length + invalid.length + skills.length === 0
      ? ['It holds no manifest, no package of a known format and no skill.']
      : []
  return { ...empty(''), errors: [...texts('error'), ...nothing], warnings: texts('warning') }
}

function render(
  { plugin, format, skills, contributions }: { plugin: string; format: string; skills: string[]; contributions: Row[] },
  bad: boolean,
  io: Io,
): string {
  const { bold, dim, red, green, yellow } = createPaint(io.stdout, io.env)
  return [
    `${bold(toOneLine(plugin))}  ${dim(format)}`,
    ...contributions.flatMap(({ id, errors, warnings, examples }) => {
      const counts = Object.entries(examples)
        .filter(([, count]) => count > 0)
        .map(([name, count]) => `${count} ${name.replace('_', ' ')}`)
      return [
        `${errors.length > 0 ? red('wrong') : green('right')}  ${toOneLine(id)}${counts.length > 0 ? `  examples: ${counts.join(', ')}` : ''}`,
        ...errors.map((text) => `  ${red('error')} ${printable(text)}`),
        ...warnings.map((text) => `  ${yellow('warning')} ${printable(text)}`),
      ]
    }),
    ...skills.map((name) => `${green('right')}  skill ${toOneLine(name)}`),
    bad ? red('It is not as it should be.') : green('All is well.'),
    '',
  ].join('\n')
}
