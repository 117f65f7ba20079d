import { Option } from 'commander'
import { findProgram, inside, searchPath } from '../../core/system/index.js'
import { redact } from '../../core/text/index.js'
import {
  openTrust,
  consentItems,
  version,
  type ContributionInfo,
  type Diagnostic,
  type Io,
  type Kernel,
  type Settings,
} from '../../core/index.js'
import { runContexts, type RunContext } from '../agent/cli/index.js'
import { leftProcesses } from '../lib/process/index.js'
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

/** Programs that tools make use of when they are there. */
const programs = ['git', 'bwrap', 'python3', 'strace', 'tmux']

/** `vtcode doctor`: one document on everything, and what to fix. Runs no plugin unless `--probe` says so. */
export default async function doctor(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('doctor', 'Says what is wrong, where, why, and what fixes it.', io)
    .option('--json', 'everything as one JSON document')
    .option('--probe', 'import each module that may run, to find those that throw, hang or export nothing')
    .option(
      '--retry <plugin>',
      'import the modules of one plugin that was switched off after failures; what runs takes it up when it reloads',
    )
    .option(
      '--sandbox',
      'attempt in the sandbox what it has to prevent, and say of each whether it held; ends with 1 when something is open',
    )
    .option('--providers', 'show instead which components an agent would use here, and who chose them')
    .addOption(new Option('--context <context>', 'with --providers: as in another place').choices(runContexts))
    .action(async ({ json, probe, retry, providers, context, sandbox: attempt }: Options) => {
      if (attempt) {
        code = await attemptAll(kernel, json ?? false, io)
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
        say(io, 'error', `Plugin not found: '${toOneLine(retry)}'; \`vtcode plugins list\` shows what there is.`)
        code = 2
        return
      }
      const said = [
        ...(probe || retry !== undefined ? await kernel.inspection.loadModules(retry) : kernel.diagnostics()),
        ...kernel.inspection.skills().diagnostics,
      ]
      // A plugin that was changed is missed by its skills as by its tools; it is one thing to fix.
      const errors = new Set(said.filter(({ severity }) => severity === 'error').map(({ message }) => message))
      const once = said.filter(
        ({ severity, message, code }) => code !== 'VT_PLUGIN_LOCK' || severity === 'error' || !errors.has(message),
      )
      const diagnostics = once.map((one) => (isForeign(one, kernel) ? { ...one, severity: 'info' as const } : one))
      const document = redact(await examine(kernel, diagnostics, io))
      io.stdout.write(json ? formatDocument(document) : render(document, io))
      code = verdict(diagnostics)
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

/** Runs every attempt to break the sandbox of commands, and prints a line for each. */
async function attemptAll(kernel: Kernel, json: boolean, io: Io): Promise<number> {
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

type Examination = Awaited<ReturnType<typeof examine>>

async function examine(kernel: Kernel, diagnostics: Diagnostic[], io: Io) {
  const {
    workspace,
    inspection: { home },
  } = kernel
  const store = openTrust({ home, workspace, env: io.env })
  const items = await consentItems({ workspace, home, user: io.env['HOME'] ?? '', env: io.env, trust: store })
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
    sandbox: await sandboxOf(kernel.settings.sandbox, workspace),
    left: leftProcesses(),
    slots: kernel.list().map(({ slot, chain }) => ({ slot, chain: chain.map((id) => link(id, states.get(id))) })),
    contributions,
    skills: kernel.inspection
      .skills()
      .all.map(({ id, state, file, reason }) => ({ id, state, file, ...(reason !== undefined && { reason }) })),
    tools: programs.map((name) => ({ name, path: findProgram(name, searchPath(io.env['PATH'], workspace)) ?? null })),
    diagnostics,
    models: await modelsUncounted(kernel, io),
  }
}

/** What a workspace says about models and does not count; a fault in the user's own settings is told elsewhere. */
async function modelsUncounted(kernel: Kernel, io: Io): Promise<string[]> {
  const { uncountedModels } = await import('../agent/cli/index.js')
  try {
    return uncountedModels(kernel, io.env)
  } catch {
    return []
  }
}

/** Where commands run: `used` when bubblewrap is there and holds, otherwise `missing` says why it is not. */
async function sandboxOf({ mode, network, plugins }: Settings['sandbox'], workspace: string) {
  const of = async (use: Settings['sandbox']['mode']) => {
    const found = use === 'off' ? { missing: 'the settings switch it off' } : await findSandbox(workspace)
    return { mode: use, used: 'tools' in found, ...('missing' in found && { missing: found.missing }) }
  }
  return { ...(await of(mode)), network, plugins: await of(plugins) }
}

const link = (id: string, info: ContributionInfo | undefined) => ({ id, stage: info?.stage, state: info?.state })

/** What the author of an installed package would have to mend: it was shown when the user agreed to it, and the rest of it works. */
function isForeign({ code, files }: Diagnostic, kernel: Kernel): boolean {
  const roots = kernel.inspection
    .plugins()
    .filter(({ layer }) => layer === 'user' || layer === 'admin')
    .map(({ root }) => root)
  return (
    /^VT_(?:SKILL|FORMAT)_/.test(code) &&
    files.length > 0 &&
    files.every((file) => roots.some((root) => inside(root, file)))
  )
}

const verdict = (diagnostics: Diagnostic[]): number => {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return errors.some(({ code }) => code.startsWith('VT_CONFIG_')) ? 3 : errors.length > 0 ? 1 : 0
}

function confinement({ mode, network, missing }: Examination['sandbox']): string {
  if (missing === undefined)
    return `commands run in bubblewrap: only the workspace is written, the network is ${network ? 'on' : 'off (sandbox.network)'}, nothing outlives its session`
  if (mode === 'required') return `required, and ${missing}: no command runs`
  return `none, for ${missing}: commands do what you can do, and a process that leaves its group may outlive its session`
}

function keeping({ mode, missing }: Examination['sandbox']['plugins']): string {
  if (missing === undefined)
    return 'each plugin runs in bubblewrap: of files, network and programs it has what its effects say'
  if (mode === 'required') return `a sandbox is required for plugins, and ${missing}: none in code runs`
  return `without one for plugins, for ${missing}: a process of its own keeps their faults apart, not their intentions`
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
    slots,
    contributions,
    skills,
    tools,
    models,
    diagnostics,
  }: Examination,
  io: Io,
): string {
  const { bold, dim, red, yellow, green } = createPaint(io.stdout, io.env)
  const colour = { error: red, warning: yellow, info: dim }
  const problems = diagnostics.filter(({ severity }) => severity !== 'info')
  // What is not honoured at all was said when the user agreed, and stands in `plugins show`.
  const theirs = diagnostics.filter(
    ({ severity, code }) => severity === 'info' && /^VT_SKILL_|^VT_FORMAT_INVALID$/.test(code),
  )
  const active = contributions.filter(({ state }) => state === 'active').length
  const there = tools.map(({ name, path }) => (path ? green(name) : dim(`${name} is not here`))).join(', ')
  return [
    `${bold(`vtcode ${program}`)}  Node ${node}  ${platform}`,
    `workspace  ${toOneLine(paths.workspace)}`,
    `yours      ${toOneLine(paths.home)}`,
    `plugins    ${contributions.length} found, ${active} active, serving ${slots.length} slots`,
    `skills     ${skills.length} found, ${skills.filter(({ state }) => state === 'active').length} active`,
    `programs   ${there}`,
    `sandbox    ${confinement(sandbox)}`,
    `           ${keeping(sandbox.plugins)}`,
    ...models.map((line) => `models     ${yellow(toOneLine(line))}`),
    ...left.map(
      ({ pid, command }) =>
        `left       ${yellow(`process ${pid}`)} outlived its command and its program: ${toOneLine(command)}`,
    ),
    // An exemption from the rule of public addresses is nothing to fix, and something to know.
    ...(web.private_hosts.length > 0
      ? [`web        ${yellow('may reach')} ${web.private_hosts.map(toOneLine).join(', ')}, public or not`]
      : []),
    '',
    ...problems.flatMap(({ severity, code, message, hint, files }) => [
      `${colour[severity](severity)} ${bold(code)}  ${printable(message)}`,
      ...files.map((file) => `  where  ${toOneLine(file)}`),
      ...(hint ? [`  fix    ${printable(hint)}`] : []),
    ]),
    ...(theirs.length > 0 ? [dim('In packages, for their authors to fix; all else of them works:')] : []),
    ...theirs.flatMap(({ code, message, files }) => [
      dim(`  ${code}  ${printable(message)}`),
      ...files.map((file) => dim(`    where  ${toOneLine(file)}`)),
    ]),
    problems.length === 0 ? green('Nothing to fix.') : `${problems.length} to fix.`,
    '',
  ].join('\n')
}
