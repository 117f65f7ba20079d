import { omitUndefined } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { openWorkspace } from '../../../core/workspace/index.js'
import { formatDocument, printable } from '../../lib/terminal/index.js'
import { printFailure } from './print_failure.js'
import { toModelId } from './session_flags.js'
import type { WorkFlags } from './work.js'

/** Prints the start of a run. Creates no session and sends no request. */
export async function preview(kernel: Kernel, task: string, flags: WorkFlags, io: Io): Promise<number> {
  const [
    { describeEnvironment, renderSystemPrompt, readInstructionText },
    { clock },
    { createToolDefinitions },
    { findModel },
    { resolveAgentSettings },
    { excludeScheduleTool },
    { countOuterConversations, excludeDelegationTools, mayDelegate },
  ] = await Promise.all([
    import('../context/index.js'),
    import('../base/index.js'),
    import('../model/index.js'),
    import('../providers/index.js'),
    import('../base/index.js'),
    import('../schedule/index.js'),
    import('../delegation/index.js'),
  ])
  const settings = resolveAgentSettings(
    kernel,
    omitUndefined({ max_turns: flags.maxTurns, max_budget_usd: flags.maxBudgetUsd }),
  )
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const model = findModel(
      kernel,
      io.env,
      toModelId(flags.model, flags.provider) ?? io.env['VTCODE_MODEL'] ?? settings.agent.model,
    )
    const prompt = renderSystemPrompt(
      kernel.inspection.resolveMode(),
      await describeEnvironment(workspace, clock),
      await readInstructionText(kernel, workspace, settings),
    )
    const { id, format, facts } = model
    const canDelegate = mayDelegate(settings, countOuterConversations(io.env))
    const mode = kernel.inspection.resolveMode(flags.plan ? 'plan' : undefined)
    const tools = createToolDefinitions(
      {
        tools: (how) =>
          excludeDelegationTools(excludeScheduleTool(kernel.tools({ ...how, audience: 'agent', mode })), {
            isPart: false,
            canDelegate,
          }),
      },
      model,
    )
    const policies = kernel.inspection
      .contributions()
      .flatMap(({ id, kind, state }) => (kind === 'policy' && state === 'active' ? [id] : []))
    const limits = { ...settings.tools, ...settings.automation.full_auto, ...settings.harness }
    if (flags.json)
      io.stdout.write(
        formatDocument({
          model: id,
          format,
          facts,
          mode: kernel.settings.policy.mode,
          prompt,
          task,
          tools,
          limits,
          policies,
        }),
      )
    else {
      const section = (title: string, body: string) => `# ${title}\n${printable(body)}\n\n`
      io.stdout.write(section('Model', `${id} (${format}), mode ${kernel.settings.policy.mode}`))
      io.stdout.write(section('Prompt', prompt) + section('Task', task))
      io.stdout.write(
        section('Tools', tools.map(({ name, description }) => `${name}: ${description ?? ''}`).join('\n')),
      )
      io.stdout.write(section('Limits', JSON.stringify(limits, null, 2)) + section('Policies', policies.join('\n')))
    }
    return 0
  } catch (error) {
    return printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}
