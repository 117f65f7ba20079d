import { resolve } from 'node:path'
import { findNearest } from '../../core/text/index.js'
import { redactLiterals } from '../../core/config/index.js'
import {
  createKernel,
  readContract,
  validateConfigFile,
  type Diagnostic,
  type Io,
  type Kernel,
  type Origin,
} from '../../core/index.js'
import { changeSetting, parseSettingValue } from './config/change_setting.js'
import { formatDocument, toOneLine, createPaint, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** Runs `vtcode config`: shows the settings with their origins and checks files. */
export default async function config(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('config', 'Show, change and check the settings.', io)
  command
    .command('show', { isDefault: true })
    .description(
      'Show the settings in use; --origins adds the file of each and the values it overrode, --all adds the defaults.',
    )
    .option('--origins')
    .option('--all')
    .option('--json', 'print one JSON document')
    .action((flags: ShowFlags) => printSettings(kernel, flags, io))
  command
    .command('get')
    .description('Print one value as JSON.')
    .argument('<key>', 'for example policy.mode')
    .action((key: string) => void (code = printValue(kernel, key, io)))
  command
    .command('set')
    .description('Change one value in your settings, if they are valid afterwards.')
    .argument('<key>', 'for example policy.mode')
    .argument('<value>', 'JSON or a text')
    .option('--project', 'in the settings of this workspace')
    .action(async (key: string, value: string, flags: { project?: true }) => {
      code = await changeSetting(kernel, key, parseSettingValue(value), flags, io)
    })
  command
    .command('unset')
    .description('Remove one value from your settings.')
    .argument('<key>')
    .option('--project', 'from the settings of this workspace')
    .action(async (key: string, flags: { project?: true }) => {
      code = await changeSetting(kernel, key, undefined, flags, io)
    })
  command
    .command('validate')
    .description('Check a settings file; without a file, check those in use.')
    .argument('[file]')
    .action(async (file?: string) => {
      code = reportProblems(
        file === undefined ? listSettingDiagnostics(kernel) : await checkFile(kernel, resolve(file), io),
        io,
      )
    })
  command
    .command('path')
    .description('List the settings files in use, and the paths of yours.')
    .action(() => {
      for (const file of listFiles(kernel)) io.stdout.write(`${toOneLine(file)}\n`)
      io.stderr.write(
        `Yours: ${kernel.inspection.home}/vtcode.config.{yaml,json,ts}; of the workspace: ` +
          `${kernel.workspace}/vtcode.config.{yaml,json,ts}, .vtcoderc, .config/vtcoderc, or ` +
          "'vtcode' in package.json\n",
      )
    })
  command
    .command('schema')
    .description('Print the published JSON Schema of a kind of file.')
    .argument('<name>', 'config or manifest')
    .action((name: string) => void (code = printSchema(name, io)))
  return runCommand(command, argv, () => code)
}

const listSettingDiagnostics = (kernel: Kernel): Diagnostic[] =>
  kernel.diagnostics().filter(({ code }) => /^VT_(CONFIG|POLICY)_/.test(code))

/**
 * Lists the faults of a file and its rules that match nothing. A file that is not in use is checked as the file of
 * the workspace.
 */
async function checkFile(kernel: Kernel, file: string, io: Io): Promise<Diagnostic[]> {
  const wrong = await validateConfigFile(file)
  if (wrong.length > 0 || listFiles(kernel).includes(file))
    return wrong.length > 0 ? wrong : listSettingDiagnostics(kernel)
  const known = new Set(listSettingDiagnostics(kernel).map(({ message }) => message))
  const tried = await createKernel({ workspace: kernel.workspace, env: io.env, config: file, verb: 'config' })
  try {
    return listSettingDiagnostics(tried).filter(({ message }) => !known.has(message))
  } finally {
    await tried.close()
  }
}

interface ShowFlags {
  origins?: true
  all?: true
  json?: true
}

function printSettings(kernel: Kernel, { origins, all, json }: ShowFlags, io: Io): void {
  if (json)
    return void io.stdout.write(
      formatDocument({
        settings: redactLiterals(kernel.settings),
        ...(origins && { origins: kernel.inspection.origins().map(redactOrigin) }),
      }),
    )
  const { dim, bold } = createPaint(io.stdout, io.env)
  const chosen = kernel.inspection
    .origins()
    .map(redactOrigin)
    .filter(({ layer, overridden }) => all || layer !== 'builtin' || overridden.length > 0)
  for (const origin of chosen) {
    io.stdout.write(
      `${bold(toOneLine(origin.path))} = ${toOneLine(JSON.stringify(origin.value) ?? 'unset')}` +
        `${origins ? dim(`  ${formatPlace(origin)}`) : ''}\n`,
    )
    for (const lost of origins ? origin.overridden : []) {
      const reason = lost.reason ? `: ${toOneLine(lost.reason)}` : ''
      io.stdout.write(
        dim(`    not ${toOneLine(JSON.stringify(lost.value) ?? 'unset')}  ${formatPlace(lost)}${reason}\n`),
      )
    }
  }
  if (!all)
    io.stderr.write(
      dim(
        chosen.length === 0
          ? 'All settings have their defaults; --all shows them.\n'
          : 'All other settings have their defaults; --all shows them.\n',
      ),
    )
}

/** Redacts the secrets of an origin, including the values that it overrode. */
function redactOrigin(origin: Origin): Origin {
  const path = origin.path.split('.')
  const overridden = origin.overridden.map((lost) => ({ ...lost, value: redactLiterals(lost.value, path) }))
  return { ...origin, value: redactLiterals(origin.value, path), overridden } as Origin
}

const formatPlace = ({ layer, file, line }: Pick<Origin, 'layer' | 'file'> & { line?: number }): string =>
  `${layer} ${toOneLine(file)}${line === undefined ? '' : `:${line}`}`
const listFiles = (kernel: Kernel): string[] =>
  [...new Set(kernel.inspection.origins().map(({ file }) => file))].filter((file) => file.startsWith('/'))

function printValue(kernel: Kernel, key: string, io: Io): number {
  const parts = key.split('.')
  let value: unknown = kernel.settings
  for (const [at, part] of parts.entries()) {
    const map = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
    value = Object.hasOwn(map, part) ? map[part] : undefined
    if (value !== undefined) continue
    const like = findNearest(part, Object.keys(map))
    say(
      io,
      'error',
      `'${toOneLine(key)}' is not set` +
        `${like === undefined ? '' : ` (did you mean ${toOneLine([...parts.slice(0, at), like].join('.'))}?)`}; ` +
        '`vtcode config show --all` lists the settings.',
    )
    return 1
  }
  io.stdout.write(formatDocument(redactLiterals(value, parts)))
  return 0
}

function reportProblems(problems: Diagnostic[], io: Io): number {
  for (const { severity, message, hint, files } of problems) {
    // Some messages already contain their places.
    const places = files.filter((file) => !message.includes(`${file}:`)).join(', ')
    say(io, severity, `${places && `${places}: `}${message} ${hint ?? ''}`)
  }
  const wrong = problems.some(({ severity }) => severity === 'error')
  const idle = problems.some(({ severity }) => severity === 'warning')
  if (!wrong)
    io.stdout.write(
      idle ? 'The settings are valid; the parts that the warnings name have no effect.\n' : 'The settings are valid.\n',
    )
  return wrong ? 3 : 0
}

const PUBLISHED_SCHEMAS = ['config', 'manifest', 'thread_event'] as const

function printSchema(name: string, io: Io): number {
  const known = PUBLISHED_SCHEMAS.find((one) => one === name)
  if (known === undefined) {
    say(io, 'error', `Unknown schema '${name}'; known: ${PUBLISHED_SCHEMAS.join(', ')}.`)
    return 2
  }
  io.stdout.write(`${JSON.stringify(readContract(`${known}.1.json`), null, 2)}\n`)
  return 0
}
