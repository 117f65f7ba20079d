import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import type { Diagnostic, Io, Kernel } from '../../../core/index.js'
import { inspect, type Inspection } from '../../../core/manifests/index.js'
import { formatDocument, toOneLine, createPaint, printable, say } from '../../lib/terminal/index.js'
import { checkReferences } from '../../lib/values/index.js'
import { listTrialSlots } from './trial_kernel.js'
import { createInspectContext } from './install.js'
import { runConfined } from './run_confined.js'
import { createCounts, runExamples, type ExampleCounts } from './self_test.js'

interface Row {
  id: string
  errors: string[]
  warnings: string[]
  examples: ExampleCounts
}

/** Checks the manifests of a plugin, then its examples; with `run` in a sandbox. Returns 0 without faults. */
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
  const inspection = await inspect(place, createInspectContext({ kernel, io }))
  const rows = new Map(createRows(inspection).map((row) => [row.id, row]))
  const isValid = [...rows.values()].every(({ errors }) => errors.length === 0)
  if (isValid) {
    const context = { path: place, inspection, run, io }
    const inputs = new Map((await listTrialSlots(context)).map(({ slot, input }) => [slot, input]))
    for (const contribution of inspection.contributions) {
      const { id, manifest, slot = '' } = contribution
      rows.get(id)?.errors.push(...(await checkReferences(contribution, inputs.get(slot) ?? manifest.input ?? {})))
      rows.get(id)?.warnings.push(...findMissingProgram(manifest.run?.[0], kernel, io))
    }
    const outcome = run ? await runConfined(context, kernel) : { rows: await runExamples(context) }
    for (const { id, examples, errors } of outcome.rows) {
      const row = rows.get(id)
      row?.errors.push(...errors)
      if (row) row.examples = examples
    }
    if (outcome.unconfined !== undefined)
      say(io, 'warning', `No sandbox is available: ${outcome.unconfined}. The examples ran with your rights.`)
    if (outcome.notRunReason !== undefined)
      rows.set('', { ...createRow(''), errors: [`The examples did not run: ${toOneLine(outcome.notRunReason)}.`] })
  }
  addGeneral(rows, createGeneralRow(inspection))
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

/** Warns about a missing program. */
function findMissingProgram(program: unknown, { workspace }: Kernel, { env }: Io): string[] {
  if (typeof program !== 'string' || !/^[^/\\{]+$/.test(program)) return []
  if (findProgram(program, listSearchFolders(env['PATH'], workspace))) return []
  return [`The program '${program}' is not on the search path. Declare it with \`requires: { bin: [${program}] }\`.`]
}

const createRow = (id: string): Row => ({ id, errors: [], warnings: [], examples: createCounts() })

/** Returns the level of a diagnostic. Unsupported parts are no fault of a package. */
const toLevel = ({ code, severity }: Diagnostic): Diagnostic['severity'] =>
  code.startsWith('VT_FORMAT_') ? 'warning' : severity

const isBad = ({ errors, warnings, examples }: Row, strict: boolean): boolean =>
  errors.length > 0 || examples.failed > 0 || (strict && warnings.length > 0)

function createRows({ root, contributions, invalid, diagnostics }: Inspection): Row[] {
  const findDiagnostics = (file: string) =>
    diagnostics.filter(({ files }) => files.some((one) => one === file || one.startsWith(`${file}:`)))
  const formatMessage = ({ message, files: [file] }: Diagnostic) =>
    file ? `${relative(root, file)}: ${message}` : message
  const good = contributions.map(({ id, file }) => ({
    ...createRow(id),
    warnings: findDiagnostics(file)
      .filter((one) => toLevel(one) !== 'info')
      .map(formatMessage),
  }))
  const bad = invalid.map(({ id, file, state, reason = '' }) => {
    const warnings = findDiagnostics(file).map(formatMessage)
    const texts = warnings.length > 0 ? warnings : [reason]
    // Another machine may have what is missing.
    return state === 'invalid' ? { ...createRow(id), errors: texts } : { ...createRow(id), warnings: texts }
  })
  return [...good, ...bad]
}

/** Creates the row for diagnostics that concern no single contribution. */
function createGeneralRow({ contributions, invalid, skills, diagnostics, root, name }: Inspection): Row {
  const files = [...contributions, ...invalid].map(({ file }) => file)
  const rest = diagnostics.filter(
    (one) => !one.files.some((file) => files.some((known) => file === known || file.startsWith(`${known}:`))),
  )
  const list = (level: Diagnostic['severity']) =>
    rest
      .filter((one) => toLevel(one) === level)
      .map(({ message, files: [file] }) => (file ? `${relative(root, file) || name}: ${message}` : message))
  const row = { ...createRow(''), errors: list('error'), warnings: list('warning') }
  if (files.length + skills.length > 0) return row
  if (rest.some(({ code }) => code === 'VT_FORMAT_INVALID')) row.errors.push(...row.warnings.splice(0))
  // An extension may have only instructions.
  else if (!existsSync(`${root}/gemini-extension.json`))
    row.errors.push('The folder contains no manifest, no package of a known format and no skill.')
  return row
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
        `${errors.length > 0 ? red('invalid') : green('valid')}  ` +
          `${toOneLine(id)}${counts.length > 0 ? `  examples: ${counts.join(', ')}` : ''}`,
        ...errors.map((text) => `  ${red('error')} ${printable(text)}`),
        ...warnings.map((text) => `  ${yellow('warning')} ${printable(text)}`),
      ]
    }),
    ...skills.map((name) => `${green('valid')}  skill ${toOneLine(name)}`),
    bad ? red('The plugin has faults.') : green('The plugin is valid.'),
    '',
  ].join('\n')
}
