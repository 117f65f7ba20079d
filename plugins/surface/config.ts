import { resolve } from 'node:path'
import { homeOf, readContract, validateConfigFile, type Diagnostic, type Io, type Kernel, type Origin } from '../../core/index.js'
import { oneLine, paint, runCommand, say, verb } from '../lib/terminal/index.js'

/** `vtcode config`: what the settings are, who said so, and whether a file is right. */
export default async function config(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = verb('config', 'Shows and checks the settings.', io)
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
      code = verdict(file === undefined ? kernel.diagnostics().filter(({ code }) => code.startsWith('VT_CONFIG_')) : await validateConfigFile(resolve(file)), io)
    })
  command
    .command('path')
    .description('The settings files in use, and where yours would lie.')
    .action(() => {
      for (const file of files(kernel)) io.stdout.write(`${oneLine(file)}\n`)
      io.stderr.write(`Yours: ${homeOf({ env: io.env })}/vtcode.config.{yaml,json,ts}; of the workspace: ${kernel.workspace}/vtcode.config.{yaml,json,ts}\n`)
    })
  command
    .command('schema')
    .description('The published JSON Schema of a kind of file.')
    .argument('<name>', 'config or manifest')
    .action((name: string) => void (code = schema(name, io)))
  return runCommand(command, argv, () => code)
}

interface ShowFlags {
  origins?: true
  all?: true
  json?: true
}

function show(kernel: Kernel, { origins, all, json }: ShowFlags, io: Io): void {
  if (json) return void io.stdout.write(`${JSON.stringify({ settings: kernel.settings, ...(origins && { origins: kernel.origins() }) })}\n`)
  const { dim, bold } = paint(io.stdout, io.env)
  const chosen = kernel.origins().filter(({ layer, overridden }) => all || layer !== 'builtin' || overridden.length > 0)
  for (const origin of chosen) {
    io.stdout.write(`${bold(oneLine(origin.path))} = ${oneLine(JSON.stringify(origin.value) ?? 'unset')}${origins ? dim(`  ${where(origin)}`) : ''}\n`)
    for (const lost of origins ? origin.overridden : []) {
      const reason = lost.reason ? `: ${oneLine(lost.reason)}` : ''
      io.stdout.write(dim(`    not ${oneLine(JSON.stringify(lost.value) ?? 'unset')}  ${where(lost)}${reason}\n`))
    }
  }
  if (!all) io.stderr.write(dim(chosen.length === 0 ? 'Nothing is set; --all shows the defaults.\n' : 'The rest is as by default; --all shows it.\n'))
}

const where = ({ layer, file, line }: Pick<Origin, 'layer' | 'file'> & { line?: number }): string => `${layer} ${oneLine(file)}${line === undefined ? '' : `:${line}`}`
const files = (kernel: Kernel): string[] => [...new Set(kernel.origins().map(({ file }) => file))].filter((file) => file.startsWith('/'))

function get(kernel: Kernel, key: string, io: Io): number {
  let value: unknown = kernel.settings
  for (const part of key.split('.')) value = typeof value === 'object' && value !== null && Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined
  if (value === undefined) {
    say(io, 'error', `'${key}' is not set; \`vtcode config show --all\` lists what is.`)
    return 1
  }
  io.stdout.write(`${JSON.stringify(value)}\n`)
  return 0
}

function verdict(problems: Diagnostic[], io: Io): number {
  for (const { severity, message, hint, files } of problems) say(io, severity, `${files.join(', ')}: ${message} ${hint ?? ''}`)
  const wrong = problems.some(({ severity }) => severity === 'error')
  if (!wrong) io.stdout.write('The settings are right.\n')
  return wrong ? 3 : 0
}

function schema(name: string, io: Io): number {
  if (name !== 'config' && name !== 'manifest') {
    say(io, 'error', `There is no schema '${name}'; there are config and manifest.`)
    return 2
  }
  io.stdout.write(`${JSON.stringify(readContract(`${name}.1.json`), null, 2)}\n`)
  return 0
}
