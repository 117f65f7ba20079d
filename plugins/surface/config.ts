import { resolve } from 'node:path'
import { nearest } from '../../core/text/index.js'
import { withoutLiterals } from '../../core/config/index.js'
import {
  createKernel,
  readContract,
  validateConfigFile,
  type Diagnostic,
  type Io,
  type Kernel,
  type Origin,
} from '../../core/index.js'
import { formatDocument, toOneLine, createPaint, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** `vtcode config`: what the settings are, who said so, and whether a file is right. */
export default async function config(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('config', 'Shows and checks the settings.', io)
  command
    .command('show', { isDefault: true })
    .description('What holds: with --origins who said it and what it overrode, with --all the defaults too.')
    .option('--origins')
    .option('--all')
    .option('--json', 'everything as one JSON document')
    .action((flags: ShowFlags) => show(kernel, flags, io))
  command
    .command('get')
    .description('One value, as JSON.')
    .argument('<key>', 'as in policy.mode')
    .action((key: string) => void (code = get(kernel, key, io)))
  command
    .command('validate')
    .description('Whether a settings file is right; without a file, those in use.')
    .argument('[file]')
    .action(async (file?: string) => {
      code = verdict(file === undefined ? saidOfSettings(kernel) : await saidOfFile(kernel, resolve(file), io), io)
    })
  command
    .command('path')
    .description('The settings files in use, and where yours would be.')
    .action(() => {
      for (const file of files(kernel)) io.stdout.write(`${toOneLine(file)}\n`)
      io.stderr.write(
        `Yours: ${kernel.inspection.home}/vtcode.config.{yaml,json,ts}; of the workspace: ${kernel.workspace}/vtcode.config.{yaml,json,ts}\n`,
      )
    })
  command
    .command('schema')
    .description('The published JSON Schema of a kind of file.')
    .argument('<name>', 'config or manifest')
    .action((name: string) => void (code = schema(name, io)))
  return runCommand(command, argv, () => code)
}

const saidOfSettings = (kernel: Kernel): Diagnostic[] =>
  kernel.diagnostics().filter(({ code }) => /^VT_(CONFIG|POLICY)_/.test(code))

/** What is wrong with a file, and which of its rules can match nothing: of one that is not in use too, as if it were that of the workspace. */
async function saidOfFile(kernel: Kernel, file: string, io: Io): Promise<Diagnostic[]> {
  const wrong = await validateConfigFile(file)
  if (wrong.length > 0 || files(kernel).includes(file)) return wrong.length > 0 ? wrong : saidOfSettings(kernel)
  const known = new Set(saidOfSettings(kernel).map(({ message }) => message))
  const tried = await createKernel({ workspace: kernel.workspace, env: io.env, config: file, verb: 'config' })
  try {
    return saidOfSettings(tried).filter(({ message }) => !known.has(message))
  } finally {
    await tried.close()
  }
}

interface ShowFlags {
  origins?: true
  all?: true
  json?: true
}

function show(kernel: Kernel, { origins, all, json }: ShowFlags, io: Io): void {
  if (json)
    return void io.stdout.write(
      formatDocument({
        settings: withoutLiterals(kernel.settings),
        ...(origins && { origins: kernel.inspection.origins().map(shown) }),
      }),
    )
  const { dim, bold } = createPaint(io.stdout, io.env)
  const chosen = kernel.inspection
    .origins()
    .map(shown)
    .filter(({ layer, overridden }) => all || layer !== 'builtin' || overridden.length > 0)
  for (const origin of chosen) {
    io.stdout.write(
      `${bold(toOneLine(origin.path))} = ${toOneLine(JSON.stringify(origin.value) ?? 'unset')}${origins ? dim(`  ${where(origin)}`) : ''}\n`,
    )
    for (const lost of origins ? origin.overridden : []) {
      const reason = lost.reason ? `: ${toOneLine(lost.reason)}` : ''
      io.stdout.write(dim(`    not ${toOneLine(JSON.stringify(lost.value) ?? 'unset')}  ${where(lost)}${reason}\n`))
    }
  }
  if (!all)
    io.stderr.write(
      dim(
        chosen.length === 0
          ? 'Nothing is set; --all shows the defaults.\n'
          : 'The rest is as by default; --all shows it.\n',
      ),
    )
}

/** An origin without the secrets that stand in it: those of a layer that was overridden too. */
function shown(origin: Origin): Origin {
  const path = origin.path.split('.')
  const overridden = origin.overridden.map((lost) => ({ ...lost, value: withoutLiterals(lost.value, path) }))
  return { ...origin, value: withoutLiterals(origin.value, path), overridden } as Origin
}

const where = ({ layer, file, line }: Pick<Origin, 'layer' | 'file'> & { line?: number }): string =>
  `${layer} ${toOneLine(file)}${line === undefined ? '' : `:${line}`}`
const files = (kernel: Kernel): string[] =>
  [...new Set(kernel.inspection.origins().map(({ file }) => file))].filter((file) => file.startsWith('/'))

function get(kernel: Kernel, key: string, io: Io): number {
  const parts = key.split('.')
  let value: unknown = kernel.settings
  for (const [at, part] of parts.entries()) {
    const map = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
    value = Object.hasOwn(map, part) ? map[part] : undefined
    if (value !== undefined) continue
    const like = nearest(part, Object.keys(map))
    say(
      io,
      'error',
      `'${toOneLine(key)}' is not set${like === undefined ? '' : ` (did you mean ${toOneLine([...parts.slice(0, at), like].join('.'))}?)`}; \`vtcode config show --all\` lists what is.`,
    )
    return 1
  }
  io.stdout.write(formatDocument(withoutLiterals(value, parts)))
  return 0
}

function verdict(problems: Diagnostic[], io: Io): number {
  for (const { severity, message, hint, files } of problems) {
    // A message that lists places names each of them itself.
    const places = files.filter((file) => !message.includes(`${file}:`)).join(', ')
    say(io, severity, `${places && `${places}: `}${message} ${hint ?? ''}`)
  }
  const wrong = problems.some(({ severity }) => severity === 'error')
  const idle = problems.some(({ severity }) => severity === 'warning')
  if (!wrong)
    io.stdout.write(
      idle ? 'The settings can be read; what the warnings name has no effect.\n' : 'The settings are right.\n',
    )
  return wrong ? 3 : 0
}

const published = ['config', 'manifest', 'thread_event'] as const

function schema(name: string, io: Io): number {
  const known = published.find((one) => one === name)
  if (known === undefined) {
    say(io, 'error', `Unknown schema '${name}'; known: ${published.join(', ')}.`)
    return 2
  }
  io.stdout.write(`${JSON.stringify(readContract(`${known}.1.json`), null, 2)}\n`)
  return 0
}
