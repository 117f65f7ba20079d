import { problem, createDiagnostic, type Diagnostic, type JsonObject } from '../shapes/index.js'
import { loadDocument } from '../documents/index.js'
import { checkContract } from '../schema/index.js'
import { createCheckedSource, type SettingsSource } from './source.js'

/** `.vtcode/tool-policy.json`: the verdict for each tool, and limits of its input. */
interface ToolPolicy {
  policies?: Record<string, 'allow' | 'prompt' | 'deny'>
  constraints?: Record<string, JsonObject>
}

const UNUSED_KEYS = ['available_tools', 'mcp', 'approval_cache']

/**
 * Reads the tool policy of a workspace as settings of its layer, which may only tighten. Throws VT_CONFIG_INVALID with
 * every fault and its line.
 */
export async function readToolPolicy(
  file: string,
  workspace: string,
  diagnostics: Diagnostic[],
): Promise<SettingsSource> {
  const data = await loadDocument(file, workspace).catch((error: Error) => {
    throw problem(
      'VT_CONFIG_INVALID',
      { problem: error.message.startsWith(file) ? error.message : `${file}: ${error.message}` },
      { details: { files: [file] } },
    )
  })
  const faults = checkContract('tool-policy.1.json', data.value)
  if (faults.length > 0) {
    const positions = faults.map(({ path }) => data.at(path))
    throw problem(
      'VT_CONFIG_INVALID',
      { problem: faults.map((fault, index) => `${positions[index]}: ${fault.problem}`).join('\n') },
      { details: { files: positions } },
    )
  }
  const { policies = {}, constraints = {} } = data.value as ToolPolicy
  for (const key of UNUSED_KEYS.filter((key) => key in (data.value as object)))
    diagnostics.push(createDiagnostic('VT_POLICY_UNUSED', { file, key }, [data.at([key])], 'info'))
  for (const [name, verdict] of Object.entries(policies)) {
    if (verdict === 'allow')
      diagnostics.push(
        createDiagnostic('VT_POLICY_ALLOW_IGNORED', { file, name }, [data.at(['policies', name])], 'info'),
      )
  }
  const rules = (verdict: string) =>
    Object.entries(policies).flatMap(([name, declared]) =>
      declared === verdict ? [{ rule: name, reason: `.vtcode/tool-policy.json sets '${name}' to ${verdict}.` }] : [],
    )
  const value = { policy: { ask: rules('prompt'), deny: rules('deny'), constraints } }
  // Rules are generated, so only constraints have their own position.
  const line = (path: readonly string[]) =>
    Number(/:(\d+):\d+$/.exec(data.at(path[1] === 'constraints' ? path.slice(1) : []))?.[1])
  return { ...(await createCheckedSource(file, value)), layer: 'workspace', line }
}
