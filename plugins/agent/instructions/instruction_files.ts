import { isUtf8 } from 'node:buffer'
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import type { VtError } from '../../../core/shapes/index.js'
import { isInside, resolveUserFolder } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { createHiddenFilter, type Workspace } from '../../../core/workspace/index.js'
import { nextCall } from '../../lib/base/index.js'
import { expandImports, Refused, type ImportReader } from './imports.js'
import { USER_FILES, USER_RULES } from './layouts.js'

/** A file of instructions for agents. Instructions are context and never grant permission. */
export interface Instructions {
  path: string
  text: string
  /** The size of the file if `text` is not its content. */
  bytes?: number
}
export const MAX_INSTRUCTION_BYTES = 131_072
/** Larger files are not read. */
const MAX_FILE_BYTES = 4 * MAX_INSTRUCTION_BYTES
export const MARKDOWN_FILE = /\.(?:md|mdc|markdown)$/i

/** Checks that the policies of calls allow reading a file. Throws Refused. */
export type ReadJudge = (path: string) => Promise<void>

/** Access to the instruction files of a workspace and of its user. */
export interface InstructionReader {
  kernel: Kernel
  judge: ReadJudge
  /** Gets sentences about files that exist and are not used. */
  onUnused: (sentence: string) => void
}

export const createInstructionReader = (
  kernel: Kernel,
  onUnused: InstructionReader['onUnused'] = () => {},
): InstructionReader => ({ kernel, judge: createJudge(kernel), onUnused })

// The policies see a session of its own, so that earlier calls have no influence.
const createJudge =
  (kernel: Kernel): ReadJudge =>
  async (path) => {
    const { tool, input } = nextCall('read', { path })
    const { verdict, reason = '' } = await kernel.explain(tool, input, { session: 'instructions' })
    if (verdict !== 'run') throw new Refused(reason)
  }

/** Returns the home folder of the user of a kernel. */
export const findUserFolder = ({ inspection: { env } }: Kernel): string => resolveUserFolder({ env })

/** Throws Refused for a hidden file outside of the workspace, where policies of calls do not apply. */
export function refuseHidden(kernel: Kernel, file: string): void {
  const place = { root: dirname(file), user: findUserFolder(kernel) }
  if (createHiddenFilter(kernel.settings, place)?.(basename(file))) throw new Refused('a rule denies reading it')
}

/** Reads a file of the user. Imports must be in its folder, or Markdown files below the home folder. */
export async function readUserFile(path: string, reader: InstructionReader): Promise<Instructions | undefined> {
  const root = await realpath(dirname(path)).catch(() => dirname(path))
  const user = findUserFolder(reader.kernel)
  return readWithImports(path, {
    resolve: (folder, name) => (name.startsWith('~/') ? join(user, name.slice(2)) : join(folder, name)),
    async read(file) {
      const found = await realpath(file)
      const isNear = file === path || found.startsWith(`${root}/`)
      if (!isNear && !(isInside(user, file) && MARKDOWN_FILE.test(found)))
        throw new Refused('only Markdown files below your home folder are imported')
      return readOwnFile(found, reader.kernel)
    },
    onRefused: reader.onUnused,
  })
}

function readOwnFile(file: string, kernel: Kernel): string {
  refuseHidden(kernel, file)
  const bytes = readBytes(file, { limit: MAX_FILE_BYTES })
  if (!isUtf8(bytes)) throw new Error(`'${file}' is not text.`)
  return bytes.toString()
}

/**
 * Files of the home folder that a workspace may import: the person's instructions and rules. Other files there, such as
 * memories and plans, may be about other work.
 */
const HOME_FILES: readonly string[] = ['.vtcode/AGENTS.md', '.agents/AGENTS.md', ...USER_FILES]
const HOME_RULES = ['.vtcode/rules', USER_RULES]

/** Throws Refused for a file of the home folder that a workspace may not import. */
function refusePrivate(name: string): void {
  const path = name.slice(2)
  if (!HOME_FILES.includes(path) && !HOME_RULES.some((folder) => path.startsWith(`${folder}/`)))
    throw new Refused(`from home a workspace imports only your instructions and rules, such as ~/${USER_FILES[0]}`)
}

/** Folders of the home folder with instructions for agents, which import Markdown files from each other. */
const HOME_FOLDERS = ['.vtcode', '.agents', '.claude', '.codex', '.gemini']

/** Reads a file of the user that a file of a workspace imports by `@~/…`. Throws Refused. */
async function readImportFromHome(name: string, kernel: Kernel): Promise<string> {
  const user = findUserFolder(kernel)
  const file = join(user, name.slice(2))
  const isListed = HOME_FOLDERS.some((folder) => isInside(join(user, folder), file)) && MARKDOWN_FILE.test(file)
  if (!isListed) throw new Refused(`only Markdown files in ${HOME_FOLDERS.join(', ')} are imported from home`)
  const real = await realpath(file)
  if (!MARKDOWN_FILE.test(real)) throw new Refused('its link leads to another kind of file')
  return readOwnFile(real, kernel)
}

/**
 * Reads a file of the workspace. It checks first that the file exists: reading a missing file would search for
 * similar names.
 * `only`: pattern for the name of the file and of the target of a link, not for imports.
 */
export async function readWorkspaceFile(
  workspace: Workspace,
  path: string,
  reader: InstructionReader,
  only?: RegExp,
): Promise<Instructions | undefined> {
  if (!(await workspace.stat(path).catch(() => undefined))) return undefined
  const read = async (file: string) => {
    if (file.startsWith('~/')) return readImportFromHome(file, reader.kernel)
    const resolved = workspace.resolve(file)
    const places = [...new Set([file, resolved])]
    if (file === path && !places.every((place) => only?.test(place) ?? true))
      throw new Refused('a workspace may add only Markdown files as instructions')
    for (const place of places) await reader.judge(place)
    return readJudgedFile(workspace, resolved)
  }
  const resolve = (folder: string, name: string) => {
    const isOwn = folder.startsWith('~/')
    const path = name.startsWith('~/') ? posix.normalize(name) : posix.join(folder, name)
    // A file of the user imports from its own folder.
    if (!isOwn && name.startsWith('~/')) refusePrivate(path)
    return path.startsWith('~/') ? path : workspace.normalize(path)
  }
  return readWithImports(path, { resolve, read, onRefused: reader.onUnused })
}

/** Reads a path after its check, and rejects a link that changed its target since. */
async function readJudgedFile(workspace: Workspace, judged: string): Promise<string> {
  await using file = await workspace.openFile(judged)
  if (file.resolved !== judged) throw new Refused('its link changed while it was read')
  const { bytes: size } = file.stat
  if (size > MAX_FILE_BYTES)
    throw Object.assign(new Error(`'${judged}' has ${size} bytes; at most ${MAX_FILE_BYTES} are read at once.`), {
      code: 'VT_INPUT_TOO_LARGE',
      details: { size_bytes: size },
    })
  const bytes = await file.read(0, MAX_FILE_BYTES)
  if (!isUtf8(bytes)) throw new Error(`'${judged}' is not text.`)
  return bytes.toString()
}

/** Reads a file with its imports; an unreadable file becomes a note. */
async function readWithImports(path: string, reader: ImportReader): Promise<Instructions | undefined> {
  const read = async (file: string) => (await reader.read(file)).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  try {
    return { path, text: await expandImports(await read(path), path, { ...reader, read }) }
  } catch (error) {
    const { code, message, details } = ((error as Partial<VtError>).problem ?? error) as {
      code?: string
      message: string
      details?: { size_bytes?: number }
    }
    if (code !== undefined && ABSENT_CODES.has(code)) return undefined
    return {
      path,
      text: `(not shown: ${message})`,
      ...(details?.size_bytes !== undefined && { bytes: details.size_bytes }),
    }
  }
}
const ABSENT_CODES = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'VT_PATH_NOT_FOUND',
  'VT_PATH_NOT_DIRECTORY',
  'VT_PATH_IS_DIRECTORY',
])
