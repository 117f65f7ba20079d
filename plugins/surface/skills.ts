import { isAbsolute, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { Io, Kernel, Skill } from '../../core/index.js'
import { shouldPrintJson, formatColumns, formatDocument, toOneLine, createPaint, say } from '../lib/terminal/index.js'
import { checkSkills, printPrompt } from './skills/check.js'
import { createSkill } from './skills/create.js'

const USAGE = `Usage:
  vtcode skills list [--all]              List the skills; --all adds those
                                          that cannot load, with the reason.
  vtcode skills show <name>               Show the details of one skill.
  vtcode skills validate <dir>… [--lenient]
                                          Check by the open format; --lenient
                                          checks only what loading needs.
  vtcode skills create <name> [--dir D] [--description T]
  vtcode skills prompt <dir>…             Print the <available_skills> block of
                                          the reference implementation.

list, show and validate print text at a terminal and JSON into a pipe;
--json and --text choose.
`
const options = {
  all: { type: 'boolean' },
  json: { type: 'boolean' },
  text: { type: 'boolean' },
  lenient: { type: 'boolean' },
  dir: { type: 'string' },
  description: { type: 'string' },
  help: { type: 'boolean' },
} as const
type Flags = {
  all?: boolean
  json?: boolean
  text?: boolean
  lenient?: boolean
  dir?: string
  description?: string
  help?: boolean
}

/** Runs `vtcode skills`: lists, shows, checks and creates skills. */
export default async function skills(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let flags: Flags
  let words: string[]
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true })
    flags = values
    words = positionals
  } catch (error) {
    return reportUsageError(io, `${(error as Error).message.split('. ')[0]}.`)
  }
  if (flags.help) {
    io.stdout.write(USAGE)
    return 0
  }
  const [verb = 'list', ...rest] = words
  const { all = false, lenient = false } = flags
  const json = shouldPrintJson(io, flags)
  if (verb === 'list' && rest.length === 0) return list(kernel, { all, json }, io)
  if ((verb === 'show' || verb === 'info') && rest.length === 1) return show(kernel, rest[0]!, json, io)
  if (verb === 'validate' && rest.length > 0) return checkSkills(rest, { lenient, json }, io)
  if (verb === 'prompt') return printPrompt(rest, io)
  if (verb === 'create' && rest.length === 1) {
    const { dir = join(kernel.workspace, '.agents', 'skills'), description } = flags
    return createSkill(rest[0]!, { dir, ...(description !== undefined && { description }) }, io)
  }
  const ARITY = { list: 'no argument', show: 'one name', validate: 'folders', create: 'one name', prompt: 'folders' }
  if (!Object.hasOwn(ARITY, verb))
    return reportUsageError(io, `Unknown sub-command '${toOneLine(verb)}'; known: ${Object.keys(ARITY).join(', ')}.`)
  return reportUsageError(io, `'vtcode skills ${verb}' takes ${ARITY[verb as keyof typeof ARITY]}.`)
}

function reportUsageError(io: Io, text: string): number {
  say(io, 'error', `${text}\n${USAGE}`)
  return 2
}

function list(kernel: Kernel, { all, json }: { all: boolean; json: boolean }, io: Io): number {
  const { all: found, skipped, diagnostics } = kernel.inspection.skills()
  const shown = all ? found : found.filter(({ state }) => state === 'active' || state === 'shadowed')
  if (json) {
    io.stdout.write(formatDocument({ skills: shown, ...(all && { skipped, diagnostics }) }))
    return 0
  }
  const { bold } = createPaint(io.stdout, io.env)
  const rows = shown.map((skill) => [
    skill.name,
    skill.id,
    skill.state,
    formatPlace(skill, kernel),
    toOneLine(skill.reason ?? skill.description),
  ])
  const bad = all ? skipped.map(({ path, reason }) => ['–', '–', 'invalid', path, toOneLine(reason)]) : []
  const [head, ...lines] = formatColumns([
    ['name', 'qualified', 'state', 'place', 'reason or description'],
    ...rows,
    ...bad,
  ]).split('\n')
  io.stdout.write([bold(head!), ...lines].join('\n'))
  if (!all) for (const { path, reason } of skipped) say(io, 'warning', `${path} was skipped: ${reason}`)
  return 0
}

function show(kernel: Kernel, name: string, json: boolean, io: Io): number {
  const skills = kernel.inspection.skills()
  const skill = skills.find(name) ?? skills.all.find((one) => one.id === name || one.name === name)
  if (!skill) {
    const unusable = skills.skipped.find(({ path }) => path.split(/[/\\]/).includes(name))
    say(
      io,
      'error',
      unusable
        ? `${unusable.path}: ${unusable.reason}`
        : `Skill not found: '${name}'; \`vtcode skills list --all\` lists all skills.`,
    )
    return 1
  }
  const remarks = skills.diagnostics.filter(({ files }) =>
    files.some((file) => file === skill.file || file.startsWith(`${skill.file}:`)),
  )
  if (json) {
    io.stdout.write(formatDocument({ ...skill, diagnostics: remarks }))
    return 0
  }
  const rows: (string | false | undefined)[][] = [
    ['name', skill.name],
    ['qualified', skill.id],
    ['state', `${skill.state}${skill.reason ? `: ${skill.reason}` : ''}`],
    ['folder', skill.folder],
    ['also at', skill.also_at.join(', ')],
    ['description', skill.description],
    ['when to use', skill.when_to_use],
    ['license', skill.license],
    ['needs', skill.compatibility],
    ['allowed-tools', skill.allowed_tools.length > 0 && `${skill.allowed_tools.join(' ')} (shown, never granted)`],
    ['for models', skill.hidden && 'no, only the user can load it'],
    ...Object.entries(skill.metadata).map(([key, value]) => [`metadata.${key}`, value]),
    ...remarks.map(({ message, files }) => ['remark', `${files[0]}: ${message}`]),
  ]
  io.stdout.write(
    formatColumns(rows.filter(([, value]) => value).map((row) => row.map((cell) => toOneLine(String(cell))))),
  )
  return 0
}

function formatPlace({ folder }: Skill, { workspace }: Kernel): string {
  const path = relative(workspace, folder)
  return toOneLine(path.startsWith('..') || isAbsolute(path) ? folder : path)
}
