import { problem, type Contribution, type Launch, type AdapterContext } from '../../../core/index.js'
import {
  confineLaunch,
  listProgramPaths,
  findSandbox,
  findImportRoot,
  prepareConfinement,
} from '../../lib/sandbox/index.js'

/**
 * Confines the process of a plugin by the sandbox settings. In bubblewrap it sees the workspace, its own files and its
 * data; its effects decide the rest. Throws VT_PLUGIN_IMPORT where a required sandbox is unavailable.
 */
export async function createSandboxedLaunch(
  launch: Launch,
  contribution: Contribution,
  adapterContext: AdapterContext,
): Promise<Launch> {
  const { plugins: use, ...limits } = adapterContext.settings.sandbox
  if (use === 'off') return launch
  const found = await findSandbox(adapterContext.workspace)
  if ('missing' in found) {
    if (use === 'auto') return launch
    throw problem('VT_PLUGIN_IMPORT', {
      id: contribution.id,
      module: contribution.root,
      problem: `needs the sandbox that the settings require: ${found.missing}`,
    })
  }
  const rights = adapterContext.listEffects(contribution)
  const settings = { ...limits, network: rights.includes('net'), writable: [...limits.writable, launch.cwd] }
  const where = {
    workspace: adapterContext.workspace,
    own: adapterContext.home,
    writable: rights.includes('write'),
    programs: rights.includes('exec'),
    cwd: launch.cwd,
    settings,
  }
  return confineLaunch(
    found.tools,
    launch,
    await prepareConfinement({ ...where, shown: [...listProgramPaths(), findImportRoot(contribution.root)] }),
  )
}
