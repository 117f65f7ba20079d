import { problem, type Contribution, type Launch, type AdapterContext } from '../../../core/index.js'
import {
  confineLaunch,
  listProgramPaths,
  findSandbox,
  findImportRoot,
  listHiddenPaths,
  prepareConfinement,
} from '../../lib/sandbox/index.js'

/**
 * Confines a process of a plugin by the sandbox settings. In bubblewrap it reads the workspace without the files that
 * rules hide, and its own files; it writes only its data. Its effects add network and programs.
 * Throws VT_PLUGIN_IMPORT where a required sandbox is unavailable.
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
  const settings = {
    ...limits,
    network: rights.includes('net'),
    writable: [...limits.writable, launch.cwd],
    deny_read: [...limits.deny_read, ...listHiddenPaths(adapterContext)],
  }
  const where = {
    workspace: adapterContext.workspace,
    own: adapterContext.home,
    // Changes go through the context, where rules and a person judge each of them.
    writable: false,
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
