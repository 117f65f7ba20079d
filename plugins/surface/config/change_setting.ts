import { rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { problem, validateConfigFile, type Io, type Kernel } from '../../../core/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import {
  draftSettings,
  findSettingsFile,
  formatDifference,
  requireInside,
  writeDraft,
} from '../../lib/own_files/index.js'
import { say, toOneLine } from '../../lib/terminal/index.js'

/** Reads a value of the command line: JSON, or a text. */
export function parseSettingValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/**
 * Changes one value in the settings of the user, or of the workspace; `undefined` removes it. The file is written only
 * where it is valid afterwards. Returns the exit code.
 */
export async function changeSetting(
  kernel: Kernel,
  key: string,
  value: unknown,
  { project }: { project?: true },
  io: Io,
): Promise<number> {
  // A process that vtcode started must not change the settings of the user.
  if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
  const file = findSettingsFile(project ? kernel.workspace : kernel.inspection.home)
  try {
    requireInside(kernel.workspace, file)
    const draft = await draftSettings(file, { [key]: value })
    if (draft.before === draft.after) {
      say(io, 'info', `${toOneLine(key)} is unchanged.`)
      return 0
    }
    const fault = draft.after === undefined ? undefined : await findFault(draft.after, extname(file))
    if (fault !== undefined) {
      say(io, 'error', `${fault} Nothing was written.`)
      return 3
    }
    io.stdout.write(formatDifference(draft, io))
    writeDraft(draft)
  } catch (error) {
    say(io, 'error', `Cannot change '${toOneLine(file)}': ${toOneLine((error as Error).message)}.`)
    return 1
  }
  await kernel.reload()
  const origin = kernel.inspection.origins().find(({ path }) => path === key)
  if (value !== undefined && origin && origin.file !== file)
    say(io, 'warning', `${toOneLine(origin.file)} sets another value, which counts here.`)
  return 0
}

/** Returns the fault of a settings text, or `undefined`. */
async function findFault(text: string, ending: string): Promise<string | undefined> {
  const folder = createTempFolder('settings')
  try {
    const file = join(folder, `vtcode.config${ending}`)
    writeFileSync(file, text, { mode: 0o600 })
    const [first] = (await validateConfigFile(file)).filter(({ severity }) => severity === 'error')
    return first && `${first.message.replaceAll(`${folder}/`, '')} ${first.hint ?? ''}`.trim()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
