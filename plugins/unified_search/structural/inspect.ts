import { dirname, join } from 'node:path/posix'
import { ok, type Context, type Result } from '../../../core/index.js'
import { discoverProjects, toList, toMap, readConfig, toTexts } from './config.js'
import type { StructuralCall } from './types.js'

/** Workflow `inspect`: reads the ast-grep configuration of the project without running ast-grep. */
export async function inspectProject({ input }: StructuralCall, context: Context): Promise<Result> {
  const config = await readConfig(context, input.config_path)
  const folder = dirname(input.config_path)
  const test_configs = toList(config?.['testConfigs']).filter(
    (item): item is { testDir: string } => typeof item === 'object' && item !== null,
  )
  const rule_dir_hints = toTexts(config?.['ruleDirs'])
  const util_dirs = toTexts(config?.['utilDirs'])
  const missing_dirs: string[] = []
  for (const dir of [...rule_dir_hints, ...util_dirs, ...test_configs.flatMap(({ testDir }) => toTexts(testDir))]) {
    const stat = await context.workspace.stat(join(folder, dir)).catch(() => undefined)
    if (stat?.kind !== 'directory') missing_dirs.push(dir)
  }
  const output = {
    workflow: 'inspect',
    backend: 'ast-grep',
    config_path: input.config_path,
    config_exists: config !== undefined,
    project_dir: folder,
    rule_dir_hints,
    util_dirs,
    test_configs,
    language_injections: toList(config?.['languageInjections']),
    custom_languages: toMap(config?.['customLanguages']),
    language_globs: toMap(config?.['languageGlobs']),
    missing_dirs,
    ...(config === undefined && { discovered_configs: await discoverProjects(context, input.path) }),
  }
  return ok(output, { text: render(output) })
}

interface Inspected {
  config_path: string
  config_exists: boolean
  rule_dir_hints: string[]
  util_dirs: string[]
  test_configs: { testDir: string; snapshotDir?: unknown }[]
  language_injections: unknown[]
  custom_languages: Record<string, unknown>
  language_globs: Record<string, unknown>
  missing_dirs: string[]
  discovered_configs?: string[]
}

function render(output: Inspected): string {
  if (!output.config_exists) {
    const found = output.discovered_configs ?? []
    return `${output.config_path} does not exist${found.length > 0 ? `; found: ${found.join(', ')}` : ''}`
  }
  const rules = output.rule_dir_hints.join(', ') || 'no folder'
  const tests = output.test_configs.map(renderTests).join(', ') || 'no folder'
  const settings = {
    'language injections': output.language_injections,
    'custom languages': output.custom_languages,
    'language globs': output.language_globs,
  }
  return [
    `${output.config_path}: rules in ${rules}; tests in ${tests}`,
    ...(output.util_dirs.length > 0 ? [`shared rules in ${output.util_dirs.join(', ')}`] : []),
    ...Object.entries(settings).flatMap(([name, value]) =>
      Object.keys(value).length > 0 ? [`${name}: ${JSON.stringify(value)}`] : [],
    ),
    ...(output.missing_dirs.length > 0
      ? [`missing: ${output.missing_dirs.join(', ')} (ast-grep refuses to scan then)`]
      : []),
  ].join('\n')
}

const renderTests = ({ testDir, snapshotDir }: Inspected['test_configs'][number]): string =>
  snapshotDir === undefined ? testDir : `${testDir} (snapshots in ${String(snapshotDir)})`
