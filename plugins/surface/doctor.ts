import { Option } from 'commander'
import { findProgram, isInside, listSearchFolders } from '../../core/system/index.js'
import { redact } from '../../core/text/index.js'
import {
  openTrust,
  listConsentItems,
  version,
  type ContributionInfo,
  type Diagnostic,
  type Io,
  type Kernel,
  type Settings,
} from '../../core/index.js'
import { runContexts, type RunContext } from '../agent/cli/index.js'
import { readCoverage } from '../lib/checkpoints/index.js'
import { formatCoverage } from './doctor/coverage.js'
import { listHookFaults } from '../lib/hooks/index.js'
import { describePrograms, formatPrograms, listDefinitions } from '../lib/language_server/index.js'
import { listLeftProcesses } from '../lib/process/index.js'
import { examineSandbox, findSandbox } from '../lib/sandbox/index.js'
import {
  formatDocument,
  toOneLine,
  createPaint,
  printable,
  runCommand,
  say,
  createVerb,
} from '../lib/terminal/index.js'

/** Optional programs that tools use. */
const programs = ['git', 'bwrap', 'python3', 'strace', 'tmux']

/** Runs `vtcode doctor`: reports the state of everything and what to fix. Imports plugins with `--probe` only. */
export default async function doctor(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('doctor', 'Report faults, with the place, the cause and the fix of each.', io)
    .option('--json', 'print one JSON document')
    .option('--probe', 'import each module, to find those that throw, hang or export nothing')
    .option(
      '--retry <plugin>',
      'import the modules of one plugin that was disabled after failures; running programs use it after a reload',
    )
    .option(
      '--sandbox',
      'try to break out of the sandbox and print the result of each attempt; exit with 1 when one succeeds',
    )
    .option('--providers', 'show which components an agent uses here, and the setting that chose each')
    .addOption(new Option('--context <context>', 'with --providers: show those of another place').choices(runContexts))
    .action(async ({ json, probe, retry, providers, context, sandbox: attempt }: Options) => {
      if (attempt) {
        code = await printSandboxAttempts(kernel, json ?? false, io)
        return
      }
      if (providers) {
        const { printComponents } = await import('../agent/cli/index.js')
        code = await printComponents(kernel, context, json ?? false, io)
        return
      }
      if (
        retry !== undefined &&
        !kernel.inspection.contributions().some(({ id }) => id === retry || id.startsWith(`${retry}:`))
      ) {
        say(io, 'error', `Plugin not found: '${toOneLine(retry)}'; \`vtcode plugins list\` lists the plugins.`)
        code = 2
        return
      }
      const reported = [
        ...(probe || retry !== undefined ? await kernel.inspection.loadModules(retry) : kernel.diagnostics()),
        ...kernel.inspection.skills().diagnostics,
        ...listHookFaults(kernel),
      ]
      // Skills and tools of a changed plugin both report it; one report is enough.
      const errors = new Set(reported.filter(({ severity }) => severity === 'error').map(({ message }) => message))
      const deduplicated = reported.filter(
        ({ severity, message, code }) => code !== 'VT_PLUGIN_LOCK' || severity === 'error' || !errors.has(message),
      )
      const diagnostics = deduplicated.map((one) =>
        isFromPackage(one, kernel) ? { ...one, severity: 'info' as const } : one,
      )
      const document = redact(await createReport(kernel, diagnostics, io))
      io.stdout.write(json ? formatDocument(document) : render(document, io))
      code = toExitCode(diagnostics)
    })
  return runCommand(command, argv, () => code)
}

interface Options {
  json?: true
  probe?: true
  retry?: string
  providers?: true
  context?: RunContext
  sandbox?: true
}

/** Runs every attempt to break the sandbox of commands and prints a line for each. */
async function printSandboxAttempts(kernel: Kernel, json: boolean, io: Io): Promise<number> {
  const { mode: _, ...settings } = kernel.settings.sandbox
  const attempts = await examineSandbox(kernel, settings)
  const { green, red } = createPaint(io.stdout, io.env)
  if ('missing' in attempts) {
    io.stdout.write(
      json
        ? formatDocument({ held: false, missing: attempts.missing, attempts: [] })
        : `${red('open')}  everything: ${toOneLine(attempts.missing)}\n`,
    )
    return 1
  }
  const held = attempts.every((attempt) => attempt.held)
  const lines = attempts.map((attempt) => {
    const found = attempt.found ? `: ${attempt.found.map(toOneLine).join(', ')}` : ''
    return `${attempt.held ? green('held') : red('open')}  ${attempt.name}${found}\n`
  })
  io.stdout.write(json ? formatDocument({ held, attempts }) : lines.join(''))
  return held ? 0 : 1
}

type DoctorReport = Awaited<ReturnType<typeof createReport>>

async function createReport(kernel: Kernel, diagnostics: Diagnostic[], io: Io) {
  const {
    workspace,
    inspection: { home },
  } = kernel
  const store = openTrust({ home, workspace, env: io.env })
  const items = await listConsentItems({ workspace, home, user: io.env['HOME'] ?? '', env: io.env, trust: store })
  const contributions = kernel.inspection.contributions()
  const states = new Map(contributions.map((one) => [one.id, one]))
  return {
    program: version,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    paths: { workspace, home },
    config: {
      files: [...new Set(kernel.inspection.origins().map(({ file }) => file))].filter((file) => file.startsWith('/')),
      errors: diagnostics.filter(({ code, severity }) => severity === 'error' && code.startsWith('VT_CONFIG_')),
    },
    trust: items.map(({ id, digest }) => ({ id, trusted: store.isTrusted({ id, digest }) })),
    web: { private_hosts: kernel.settings.web.private_hosts },
    sandbox: await describeSandbox(kernel.settings.sandbox, workspace),
    left: listLeftProcesses(),
    checkpoints: readCoverage(workspace, home),
    slots: kernel
      .list()
      .map(({ slot, chain }) => ({ slot, chain: chain.map((id) => toChainLink(id, states.get(id))) })),
    contributions,
    skills: kernel.inspection
      .skills()
      .all.map(({ id, state, file, reason }) => ({ id, state, file, ...(reason !== undefined && { reason }) })),
    tools: programs.map((name) => ({
      name,
      path: findProgram(name, listSearchFolders(io.env['PATH'], workspace)) ?? null,
    })),
    language_servers: describePrograms(listDefinitions(contributions), { workspace, searchPath: io.env['PATH'] }),
    diagnostics,
    models: await findIgnoredModels(kernel, io),
  }
}

/** Lists the model settings of the workspace that are ignored. Faults in the user's settings are reported elsewhere. */
async function findIgnoredModels(kernel: Kernel, io: Io): Promise<string[]> {
  const { listIgnoredModels } = await import('../agent/cli/index.js')
  try {
    return listIgnoredModels(kernel, io.env)
  } catch {
    return []
  }
}

/** Reports whether commands and plugins run in bubblewrap; `missing` is the reason where they do not. */
async function describeSandbox({ mode, network, plugins }: Settings['sandbox'], workspace: string) {
  const describeUse = async (use: Settings['sandbox']['mode']) => {
    const found = use === 'off' ? { missing: 'the settings switch it off' } : await findSandbox(workspace)
    return { mode: use, used: 'tools' in found, ...('missing' in found && { missing: found.missing }) }
  }
  return { ...(await describeUse(mode)), network, plugins: await describeUse(plugins) }
}

const toChainLink = (id: string, info: ContributionInfo | undefined) => ({ id, stage: info?.stage, state: info?.state })

/**
 * Checks whether the author of an installed package has to fix a diagnostic. The user saw it on consent, and the rest
 * of the package works.
 */
function isFromPackage({ code, files }: Diagnostic, kernel: Kernel): boolean {
  const roots = kernel.inspection
    .plugins()
    .filter(({ layer }) => layer === 'user' || layer === 'admin')
    .map(({ root }) => root)
  return (
    /^VT_(?:SKILL|FORMAT)_/.test(code) &&
    files.length > 0 &&
    files.every((file) => roots.some((root) => isInside(root, file)))
  )
}

const toExitCode = (diagnostics: Diagnostic[]): number => {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return errors.some(({ code }) => code.startsWith('VT_CONFIG_')) ? 3 : errors.length > 0 ? 1 : 0
}

function formatCommandSandbox({ mode, network, missing }: DoctorReport['sandbox']): string {
  if (missing === undefined)
    return (
      'commands run in bubblewrap: only the workspace is writable, the network is ' +
      `${network ? 'on' : 'off (sandbox.network)'}, nothing outlives its session`
    )
  if (mode === 'required') return `required, but ${missing}: no command runs`
  return (
    `none, because ${missing}: commands have all your rights, and a process that leaves its group may ` +
    'outlive its session'
  )
}

function formatPluginSandbox({ mode, missing }: DoctorReport['sandbox']['plugins']): string {
  if (missing === undefined)
    return 'each plugin runs in bubblewrap with the files, network and programs that its effects allow'
  if (mode === 'required') return `required for plugins, but ${missing}: no plugin with code runs`
  return `none for plugins, because ${missing}: a separate process contains their faults, not malicious code`
}

function render(
  {
    program,
    node,
    platform,
    paths,
    web,
    sandbox,
    left,
    checkpoints,
    slots,
    contributions,
    skills,
    tools,
    models,
    language_servers: servers,
    diagnostics,
  }: DoctorReport,
  io: Io,
): string {
  const { bold, dim, red, yellow, green } = createPaint(io.stdout, io.env)
  const colour = { error: red, warning: yellow, info: dim }
  const problems = diagnostics.filter(({ severity }) => severity !== 'info')
  // Unsupported parts were shown on consent and are listed by `plugins show`.
  const foreign = diagnostics.filter(
    ({ severity, code }) => severity === 'info' && /^VT_SKILL_|^VT_FORMAT_INVALID$/.test(code),
  )
  const active = contributions.filter(({ state }) => state === 'active').length
  const there = tools.map(({ name, path }) => (path ? green(name) : dim(`${name} is missing`))).join(', ')
  return [
    `${bold(`vtcode ${program}`)}  Node ${node}  ${platform}`,
    `workspace  ${toOneLine(paths.workspace)}`,
    `yours      ${toOneLine(paths.home)}`,
    `plugins    ${contributions.length} found, ${active} active, serving ${slots.length} slots`,
    `skills     ${skills.length} found, ${skills.filter(({ state }) => state === 'active').length} active`,
    `programs   ${there}`,
    `servers    ${formatPrograms(servers)}`,
    `sandbox    ${formatCommandSandbox(sandbox)}`,
    `           ${formatPluginSandbox(sandbox.plugins)}`,
    ...models.map((line) => `models     ${yellow(toOneLine(line))}`),
    ...left.map(
      ({ pid, command }) =>
        `left       ${yellow(`process ${pid}`)} outlived its command and program: ${toOneLine(command)}`,
    ),
    ...diagnostics.flatMap(({ code, message }) =>
      code === 'VT_POLICY_UNUSED' ? [`unused     ${toOneLine(message)}`] : [],
    ),
    ...formatCoverage(checkpoints),
    // No fault, but worth knowing.
    ...(web.private_hosts.length > 0
      ? [`web        ${yellow('may reach')} ${web.private_hosts.map(toOneLine).join(', ')}, public or not`]
      : []),
    '',
    ...problems.flatMap(({ severity, code, message, hint, files }) => [
      `${colour[severity](severity)} ${bold(code)}  ${printable(message)}`,
      ...files.map((file) => `  where  ${toOneLine(file)}`),
      ...(hint ? [`  fix    ${printable(hint)}`] : []),
    ]),
    ...(foreign.length > 0
      ? [dim('Faults in packages, for their authors to fix; the rest of each package works:')]
      : []),
    ...foreign.flatMap(({ code, message, files }) => [
      dim(`  ${code}  ${printable(message)}`),
      ...files.map((file) => dim(`    where  ${toOneLine(file)}`)),
    ]),
    problems.length === 0 ? green('Nothing to fix.') : `${problems.length} to fix.`,
    '',
  ].join('\n')
}
