import { dirname, join } from 'node:path/posix'
import type { Context } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import type { Consumer } from '../../lib/process/index.js'
import { listFiles } from '../../lib/search/index.js'
import { runAstGrep, InstallProblem, parseReasons, type AstGrepEnd } from '../../lib/syntax/index.js'
import { discoverProjects, createInspectCall, invalidProject, readConfig, toTexts } from './config.js'
import { engineMissing } from './refusals.js'
import type { StructuralInput } from './types.js'

const TIMEOUT_SECONDS = 120

/** Runs `scan` or `test` of the project in the root. `undefined` without ast-grep. Throws VT_SEARCH_*. */
export async function runProject(
  context: Context,
  input: StructuralInput,
  args: string[],
  onStdout: Consumer,
): Promise<AstGrepEnd | undefined> {
  const config = await readConfig(context, input.config_path)
  if (!config) {
    throw createSlotError('VT_SEARCH_CONFIG_MISSING', `'${input.config_path}' was not found.`, {
      hint: 'Create it with at least "ruleDirs:\\n- rules"; the ast-grep skill shows how.',
      next: createInspectCall(input.config_path),
      details: { discovered_configs: await discoverProjects(context, input.path) },
    })
  }
  await using root = await context.workspace.openDirectory('.')
  const filter = input.filter === undefined ? [] : [`--filter=${input.filter}`]
  const [command, ...rest] = args
  const whole = [command!, '--config', input.config_path, ...filter, ...rest]
  const answered = await runAstGrep(context, whole, { cwd: root.ref, seconds: TIMEOUT_SECONDS }, onStdout).catch(
    (error: unknown) => {
      throw error instanceof InstallProblem ? engineMissing(error.message) : error
    },
  )
  if (!answered) return undefined
  const stderr = parseReasons(answered.stderr)
  const why = stderr
    .filter((line) => !line.startsWith('Help:'))
    .map((line) => line.replace(/^(Error: |╰▻ )/, ''))
    .join(' ')
    .replaceAll(context.workspace.root, '.')
  if (answered.timed_out)
    throw createSlotError('VT_SEARCH_TIMEOUT', `ast-grep did not finish within ${TIMEOUT_SECONDS} s.`, {
      retryable: true,
    })
  if (answered.exit_code === undefined)
    throw createSlotError('VT_SEARCH_FAILED', 'ast-grep ended by a signal.', { details: { stderr } })
  if (answered.exit_code === 3 && /Rule not found/.test(answered.stderr)) {
    throw createSlotError('VT_SEARCH_RULE', `No rule matches '${input.filter}'.`, {
      details: { rules: await listRuleIds(context, config, input.config_path) },
    })
  }
  if ([2, 3, 5, 6, 8].includes(answered.exit_code))
    throw invalidProject(
      input.config_path,
      why,
      stderr.map((line) => line.replaceAll(context.workspace.root, '.')),
    )
  return answered
}

/** Lists the ids of the rules of the project, at most 50. */
async function listRuleIds(context: Context, config: Record<string, unknown>, config_path: string): Promise<string[]> {
  const { parseAllDocuments } = await import('yaml')
  const ids = new Set<string>()
  for (const dir of toTexts(config['ruleDirs'])) {
    const folder = await context.workspace.openDirectory(join(dirname(config_path), dir)).catch(() => undefined)
    if (!folder) continue
    await using held = folder
    const listing = await listFiles(context, held, { file_extensions: ['yml', 'yaml'] })
    for (const file of listing.files) {
      const text = await context.workspace.readText(file, { max_bytes: 1_048_576 }).catch(() => '')
      for (const document of parseAllDocuments(text)) {
        const id: unknown = 'get' in document ? document.get('id') : undefined
        if (typeof id === 'string') ids.add(id)
      }
    }
  }
  return [...ids].sort().slice(0, 50)
}
