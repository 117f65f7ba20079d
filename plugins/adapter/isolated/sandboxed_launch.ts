import { problem, type Contribution, type Launch, type AdapterContext } from '../../../core/index.js'
import {
  confineLaunch,
  listProgramPaths,
  findSandbox,
  findPackageRoot,
  prepareConfinement,
} from '../../lib/sandbox/index.js'

/**
 * The launch of a plugin's process under the sandbox settings: inside bubblewrap it sees the workspace, its own files and its data; its
 * effects decide about the rest. Throws VT_PLUGIN_IMPORT where a sandbox is required and does not hold.
 */
export async function sandboxedLaunch(
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
      problem: `is not run without the sandbox that the settings require: ${found.missing}`,
    })
  }
  const rights = adapterContext.rightsOf(contribution)
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
    await prepareConfinement({ ...where, shown: [...listProgramPaths(), findPackageRoot(contribution.root)] }),
  )
}
