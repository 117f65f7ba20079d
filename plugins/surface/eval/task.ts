import { posix } from 'node:path'
import type { JsonObject, Workspace } from '../../../core/index.js'
import { requireLibrary } from '../../../core/system/index.js'
import { listTaskFiles } from './tree.js'
import { EvalError } from './error.js'

/** A task in Harbor's form that runs without a container. */
export interface EvalTask {
  name: string
  /** The folder of the task in the workspace. */
  folder: string
  instruction: string
  agent_secs: number
  verifier_secs: number
  /** The folder where the task works in its container, such as `/app`. */
  container_folder: string
  /** Copies of the Dockerfile: from a path of the task to a path of the work folder. */
  copies: { from: string; to: string }[]
  has_solution: boolean
}
/** A task that cannot run here, with the reason. */
export interface RefusedTask {
  name: string
  refused: string
}

const MAX_TEXT_BYTES = 1024 * 1024
const DEFAULT_SECONDS = { agent: 600, verifier: 120 }
/** Instructions of a Dockerfile that change nothing but files, folders and the description of an image. */
const LOCAL_INSTRUCTIONS = new Set(['FROM', 'WORKDIR', 'COPY', 'ADD', 'LABEL', 'CMD', 'ENTRYPOINT', 'EXPOSE', 'USER'])

/** Reads all tasks of a suite, in the order of their names. Throws EvalError for a folder without tasks. */
export async function readSuite(workspace: Workspace, suite: string): Promise<(EvalTask | RefusedTask)[]> {
  const folder = workspace.normalize(suite)
  const isTask = async (path: string) => (await workspace.stat(`${path}/task.toml`))?.kind === 'file'
  if (await isTask(folder)) return [await readTask(workspace, folder)]
  const names = (await workspace.stat(folder)) ? await workspace.listNames(folder) : []
  const tasks: (EvalTask | RefusedTask)[] = []
  for (const { name, kind } of names)
    if (kind === 'directory' && (await isTask(`${folder}/${name}`)))
      tasks.push(await readTask(workspace, `${folder}/${name}`))
  if (tasks.length === 0)
    throw new EvalError(
      `'${suite}' has no task: no folder below it has a task.toml.`,
      'Pass a folder of tasks in the form of Harbor; `vtcode eval init` makes one from the history of a repository.',
    )
  return tasks
}

async function readTask(workspace: Workspace, folder: string): Promise<EvalTask | RefusedTask> {
  const name = posix.basename(folder)
  try {
    return await checkTask(workspace, folder, name)
  } catch (error) {
    if (error instanceof EvalError) return { name, refused: error.message }
    throw error
  }
}

async function checkTask(workspace: Workspace, folder: string, name: string): Promise<EvalTask> {
  const readText = async (path: string): Promise<string | undefined> =>
    (await workspace.stat(`${folder}/${path}`))?.kind === 'file'
      ? workspace.readText(`${folder}/${path}`, { max_bytes: MAX_TEXT_BYTES })
      : undefined
  const requireText = async (path: string): Promise<string> => {
    const text = await readText(path)
    if (text === undefined || text.trim() === '') throw new EvalError(`${path} is missing or empty.`, '')
    return text
  }
  const settings = parseToml(await requireText('task.toml'))
  const instruction = await requireText('instruction.md')
  await requireText('tests/test.sh')
  const { verifier, agent, environment } = settings
  if (await readText('environment/docker-compose.yaml'))
    throw new EvalError('It needs containers: environment/docker-compose.yaml.', '')
  const dockerfile = await readText('environment/Dockerfile')
  if (dockerfile === undefined)
    throw new EvalError(
      typeof environment['docker_image'] === 'string'
        ? `It needs the image '${environment['docker_image'].slice(0, 100)}'.`
        : 'environment/Dockerfile is missing.',
      '',
    )
  return {
    name,
    folder,
    instruction,
    agent_secs: readSeconds(agent, 'agent', DEFAULT_SECONDS.agent),
    verifier_secs: readSeconds(verifier, 'verifier', DEFAULT_SECONDS.verifier),
    ...readDockerfile(dockerfile),
    has_solution: (await readText('solution/solve.sh')) !== undefined,
  }
}

function parseToml(text: string): Record<'verifier' | 'agent' | 'environment', JsonObject> {
  const { parse } = requireLibrary('smol-toml') as typeof import('smol-toml')
  let settings: JsonObject
  try {
    settings = parse(text) as JsonObject
  } catch (error) {
    throw new EvalError(`task.toml is no TOML: ${(error as Error).message.split('\n')[0]!}`, '')
  }
  const section = (name: string): JsonObject => {
    const value = settings[name] ?? {}
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new EvalError(`task.toml: '${name}' must be a table.`, '')
    return value as JsonObject
  }
  return { verifier: section('verifier'), agent: section('agent'), environment: section('environment') }
}

function readSeconds({ timeout_sec = undefined }: JsonObject, section: string, usual: number): number {
  if (timeout_sec === undefined) return usual
  if (typeof timeout_sec !== 'number' || !(timeout_sec > 0 && timeout_sec <= 86_400))
    throw new EvalError(`task.toml: ${section}.timeout_sec must be a number above 0, at most 86400.`, '')
  return timeout_sec
}

/** Reads the words of a copy; `undefined` for one with options, several sources, patterns or an address. */
function readCopy([from, to, ...more]: readonly string[], folder: string): EvalTask['copies'][number] | undefined {
  if (from === undefined || to === undefined || more.length > 0) return undefined
  if (/^--|^\w+:\/\/|[*?[\]"]/.test(`${from} ${to}`)) return undefined
  return { from: posix.join('environment', from), to: posix.resolve(folder, to) }
}

/** Reads where files are copied to. Throws EvalError for an instruction that needs a container. */
function readDockerfile(text: string): Pick<EvalTask, 'container_folder' | 'copies'> {
  let container_folder = '/'
  const copies: { from: string; to: string }[] = []
  const lines = text
    .replace(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  for (const line of lines) {
    const [word = '', ...words] = line.split(/\s+/)
    const instruction = word.toUpperCase()
    if (!LOCAL_INSTRUCTIONS.has(instruction)) throw new EvalError(`It needs a container: ${line.slice(0, 100)}`, '')
    if (instruction === 'WORKDIR') container_folder = posix.resolve(container_folder, words[0] ?? '.')
    if (instruction !== 'COPY' && instruction !== 'ADD') continue
    const copy = readCopy(words, container_folder)
    if (!copy) throw new EvalError(`It needs a container: ${line.slice(0, 100)}`, '')
    copies.push(copy)
  }
  if (container_folder === '/') throw new EvalError('It needs a container: no WORKDIR is set.', '')
  const inside = copies.map(({ from, to }) => {
    const path = posix.relative(container_folder, to)
    if (path.startsWith('..') || posix.normalize(from).startsWith('..') || !from.startsWith('environment'))
      throw new EvalError(`It needs a container: it copies to ${to.slice(0, 100)}.`, '')
    return { from: posix.normalize(from).replace(/\/$/, ''), to: path === '' ? '.' : path }
  })
  return { container_folder, copies: inside }
}

/**
 * Replaces the folders of a container in a script by folders of this machine. The work folder counts only as a whole
 * path or as the beginning of one.
 */
export function localizeScript(script: string, folders: Readonly<Record<string, string>>): string {
  const names = Object.keys(folders).sort((a, b) => b.length - a.length)
  const pattern = new RegExp(`(?<![\\w./-])(?:${names.map(escapePattern).join('|')})(?![\\w-])`, 'g')
  return script.replace(pattern, (name) => folders[name]!)
}
const escapePattern = (text: string): string => text.replace(/[^\w/]/g, '\\$&')

/** Hashes what a task is: a run that continues must have the same tasks. */
export const describeTask = async (workspace: Workspace, task: EvalTask): Promise<string[]> => {
  const files = await listTaskFiles(workspace, task.folder)
  const stats = await Promise.all(
    files.map(async ({ path }) => `${path} ${(await workspace.stat(`${task.folder}/${path}`))?.bytes ?? 0}`),
  )
  return [task.name, task.instruction, ...stats]
}
