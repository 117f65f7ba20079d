import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { ok, version, type Context, type Handler, type JsonObject } from '../../core/index.js'
import { pluralize } from '../lib/base/index.js'
import { runProgram, createTail } from '../lib/process/index.js'
import { findSandbox } from '../lib/sandbox/index.js'
import { findRipgrep } from '../lib/search/index.js'
import { findAstGrep } from '../lib/syntax/index.js'

interface Input {
  mode: 'summary' | 'tools' | 'diagnostics' | 'full' | 'debug' | 'analyze'
}
interface Engine {
  available: boolean
  version?: string
  reason?: string
}

/** Returns facts about the running program, without environment variables, keys and contents of files. */
export default (async ({ input, mode, caller }, context) => {
  const { host, workspace } = context
  const slots = host.slots()
  const contributions = host.contributions()
  const diagnostics = host.diagnostics()
  const facts = {
    version,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    workspace: basename(workspace.root),
    mode,
    surface: caller.surface,
    dialect: 'unified',
    trusted:
      !contributions.some(({ state }) => state === 'untrusted') &&
      !diagnostics.some(({ code }) => code === 'VT_CONFIG_UNTRUSTED'),
    counts: {
      slots: slots.length,
      plugins: new Set(contributions.map(({ id }) => id.split(':')[0])).size,
      skills: host.skills().catalogue.length,
      mcp_servers: new Set(slots.flatMap(({ group }) => group ?? [])).size,
    },
    engines: await inspectEngines(context),
  }
  const wants = (part: 'tools' | 'diagnostics'): boolean =>
    input.mode === part ||
    input.mode === 'full' ||
    input.mode === 'analyze' ||
    (part === 'diagnostics' && input.mode === 'debug')
  const output = {
    ...facts,
    ...(wants('tools') && {
      tools: slots.map(({ slot, chain, effects }) => ({ slot, plugin: chain[0] ?? '', effects: [...effects] })),
    }),
    ...(wants('diagnostics') && {
      diagnostics: diagnostics.map(({ code, message, files }) => ({
        code,
        message,
        ...(files[0] && { file: toRelative(files[0], workspace.root) }),
      })),
    }),
  }
  return ok(output, { text: render(output) })
}) satisfies Handler<Input>

/** Returns a path without folders of the machine, which are private and useless to a model. */
const toRelative = (file: string, root: string): string =>
  file.startsWith(`${root}/`) ? file.slice(root.length + 1) : basename(file)

async function inspectEngines({ workspace, signal }: Context): Promise<Record<string, Engine>> {
  const [ripgrep, ast_grep, confined] = await Promise.all([
    readProgramVersion(await findRipgrep(), 'the package @vscode/ripgrep has no program for this platform', signal),
    readProgramVersion(
      findAstGrep(workspace),
      'run `vtcode dependencies install ast-grep`, or name its program in VTCODE_AST_GREP_BIN',
      signal,
    ),
    findSandbox(workspace.root),
  ])
  return {
    ripgrep,
    ast_grep,
    napi: findPackage('@ast-grep/napi'),
    pty: findPackage('node-pty'),
    sandbox: 'tools' in confined ? { available: true } : { available: false, reason: confined.missing },
  }
}

async function readProgramVersion(file: string | undefined, missing: string, signal: AbortSignal): Promise<Engine> {
  const errors = createTail()
  const ended =
    file === undefined || !existsSync(file)
      ? undefined
      : await runProgram({ file, args: ['--version'], cwd: '/' }, { signal, seconds: 5 }, errors.take)
  const [number] = /\d+\.\d+\.\d+/.exec(errors.text()) ?? []
  return ended?.exit_code === 0
    ? { available: true, ...(number !== undefined && { version: number }) }
    : { available: false, reason: missing }
}

function findPackage(name: string): Engine {
  try {
    const file = createRequire(import.meta.url).resolve(`${name}/package.json`)
    return { available: true, version: (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version }
  } catch {
    return { available: false, reason: `the package ${name} is not installed` }
  }
}

function render(output: {
  version: string
  node: string
  mode: string
  surface: string
  counts: Record<string, number>
  engines: Record<string, Engine>
  tools?: JsonObject[]
  diagnostics?: JsonObject[]
}): string {
  const { counts } = output
  return [
    `vtcode ${output.version} on ${output.node}, mode ${output.mode}, surface ${output.surface}`,
    (['slot', 'plugin', 'skill'] as const).map((name) => pluralize(counts[`${name}s`]!, name)).join(', '),
    ...Object.entries(output.engines).map(
      ([name, engine]) => `${name}: ${engine.available ? (engine.version ?? 'available') : engine.reason}`,
    ),
    ...(output.tools ?? []).map(({ slot, plugin }) => `${String(slot)} ← ${String(plugin)}`),
    ...(output.diagnostics ?? []).map(({ code, message }) => `${String(code)}: ${String(message)}`),
  ].join('\n')
}
