import { realpathSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { findProgram, isProgram, makeFolder, listSearchFolders } from '../../core/system/index.js'
import { toText } from '../../core/text/index.js'
import {
  problem,
  VtError,
  type Adapter,
  type Call,
  type Context,
  type Contribution,
  type Handle,
  type JsonObject,
  type AdapterContext,
  type Schema,
} from '../../core/index.js'
import { isUncovered, requireUnchanged } from '../../core/trust/index.js'
import { runProgram } from '../lib/process/index.js'
import { Capture } from './command/capture.js'
import { buildToolEnvironment } from './command/environment.js'
import { toCommandResult } from './command/output.js'
import { parseCommandSettings, type CommandSettings } from './command/settings.js'
import { parseTemplate, type ArgvTemplate, type TemplateValues } from './command/template.js'

/** Turns a manifest with `run` into a handler that starts a program without a shell, with limits on time and output. */
const command: Adapter = (contribution, adapterContext) => {
  const settings = parseCommandSettings(contribution.manifest)
  let template: ArgvTemplate | undefined
  return async (call, context) => {
    template ??= parseTemplate(contribution.manifest.run!, context.slot.input, settings.allow_dash)
    await requireConfinedPaths(call, context)
    const values = collectTemplateValues(contribution, call.input, adapterContext)
    const args = template.render(values)
    const file = resolveProgram(template.program, contribution, adapterContext)
    const env = await buildToolEnvironment(values, {
      contribution,
      adapterContext,
      input: call.input,
      signal: context.signal,
    })
    makeFolder(values.plugin_data, 0o700)
    await using folder = await openWorkingDirectory(settings, call, context)
    const stdout = new Capture(context, contribution.name, settings.max_output_bytes)
    const stderr = new Capture(context, `${contribution.name}_stderr`, settings.max_output_bytes)
    const started = performance.now()
    try {
      requireUnchanged(adapterContext.workspace, contribution)
      const ended = await runProgram(
        {
          file,
          args,
          cwd: folder?.ref ?? (settings.cwd === 'data' ? values.plugin_data : contribution.root),
          env,
          parentEnv: adapterContext.env,
          ...encodeStdin(settings.stdin, call.input),
        },
        { signal: context.signal, seconds: settings.timeout_secs },
        stdout.take,
        stderr.take,
      )
      if (!ended)
        throw problem('VT_PLUGIN_REQUIRES', {
          id: contribution.id,
          needs: `'${template.program}', which the system cannot start`,
        })
      if (ended.timed_out) throw problem('VT_CALL_TIMEOUT', { slot: call.slot, seconds: settings.timeout_secs })
      const took = Math.round(performance.now() - started)
      return toCommandResult(settings, {
        exit_code: ended.exit_code,
        duration_ms: took,
        stdout: stdout.text(),
        stderr: stderr.text(),
        spooled: stdout.path ?? stderr.path,
      })
    } finally {
      await Promise.all([stdout.close(), stderr.close()])
    }
  }
}
command.render = (contribution, input, adapterContext, slot) => {
  const { manifest } = contribution
  const { stdin, allow_dash } = parseCommandSettings(manifest)
  const { program, render } = parseTemplate(manifest.run!, slot.input, allow_dash)
  const text = encodeStdin(stdin, input).input
  return {
    argv: [program, ...render(collectTemplateValues(contribution, input, adapterContext))],
    ...(text && { stdin: text.toString('utf8') }),
    env: manifest['env'] ?? {},
  }
}
export default command

const collectTemplateValues = (
  contribution: Contribution,
  input: Readonly<JsonObject>,
  adapterContext: AdapterContext,
): TemplateValues => ({
  input,
  workspace: adapterContext.workspace,
  plugin_root: contribution.root,
  plugin_data: adapterContext.dataFolder(contribution),
  options: adapterContext.resolveOptions(contribution),
})

/** Opens each path first: a program that follows a link could leave the workspace unnoticed. */
async function requireConfinedPaths(call: Call, context: Context): Promise<void> {
  for (const [name, schema] of Object.entries((context.slot.input.properties ?? {}) as Record<string, Schema>)) {
    const items = schema.items as Schema | undefined
    if (schema.format !== 'workspace-path' && items?.format !== 'workspace-path') continue
    for (const path of [call.input[name] ?? []].flat() as string[]) {
      try {
        await (await context.workspace.open(path)).close()
      } catch (error) {
        const mayBeAbsent = (schema['x-exists'] ?? items?.['x-exists']) !== true
        if (!(mayBeAbsent && error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND')) throw error
      }
    }
  }
}

/**
 * Returns the file of the program. A bare name is searched outside the workspace, `./file` inside the plugin.
 */
function resolveProgram(program: string, contribution: Contribution, { env, workspace }: AdapterContext): string {
  const { id, root } = contribution
  const missing = (what: string): VtError => problem('VT_PLUGIN_REQUIRES', { id, needs: what })
  if (!program.includes('/')) {
    const found = findProgram(program, listSearchFolders(env['PATH'], workspace))
    if (found) return found
    throw missing(`the program '${program}', which is not on the search path`)
  }
  if (isUncovered(program, contribution, workspace))
    throw missing(`'${program}', but a program of the workspace has to be in the folder of the plugin`)
  const file = resolve(root, program)
  if (!isProgram(file)) throw missing(`'${program}', which is not an executable file`)
  if (!isAbsolute(program) && !realpathSync(file).startsWith(`${realpathSync(root)}/`))
    throw missing(`'${program}', which is outside the plugin`)
  return file
}

/** Opens the folder of the workspace in which the program runs. Returns nothing for the folder of the plugin. */
async function openWorkingDirectory(
  { cwd }: CommandSettings,
  call: Call,
  { workspace }: Context,
): Promise<Handle | undefined> {
  if (cwd === 'plugin' || cwd === 'data') return undefined
  return workspace.openDirectory(cwd === 'workspace' ? '.' : toText(call.input[cwd.input] ?? '.'))
}

function encodeStdin(stdin: CommandSettings['stdin'], input: Readonly<JsonObject>): { input?: Buffer } {
  if (stdin === undefined) return {}
  const value = stdin.name === '$input' ? input : input[stdin.name]
  if (value === undefined) return {}
  const text = Buffer.from(stdin.json ? JSON.stringify(value) : toText(value))
  if (text.length > 4 * 1024 * 1024)
    throw problem('VT_INPUT_TOO_LARGE', { size: `${text.length} bytes of standard input`, limit: '4 MiB' })
  return { input: text }
}
