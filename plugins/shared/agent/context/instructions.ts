import { readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { homeOf, type Workspace } from '../../../../core/index.js'
import { AgentError } from '../errors.js'
import type { AgentSettings } from '../settings.js'

/** A file in which people say how to work; instructions are context, never permission. */
export interface Instructions {
  path: string
  text: string
}
const hardStop = 131_072

/**
 * What is written for agents, farthest first: the user's own, then folder by folder from the root of the repository to the
 * workspace. The budget is spent from the nearest outwards; the nearest is never cut. Throws VT_CONTEXT_INSTRUCTIONS_TOO_LARGE.
 */
export async function instructions(workspace: Workspace, settings: AgentSettings['agent'], env: Readonly<Record<string, string | undefined>>): Promise<Instructions[]> {
  const found = [await own(join(homeOf({ env }), 'AGENTS.md'))]
  for (const folder of above(workspace.root)) found.push(await firstOf(namesOf(settings), (name) => own(join(folder, name))))
  found.push(await firstOf(namesOf(settings), (name) => inside(workspace, name)))
  for (const { name, kind } of await workspace.names('.vtcode/rules').catch(() => [])) {
    if (kind === 'file' && name.endsWith('.md')) found.push(await inside(workspace, `.vtcode/rules/${name}`))
  }
  return withinBudget(found.filter((one) => one !== undefined), settings.instruction_max_bytes)
}

/** The instructions of the folders on the way to a path, below the root, that were not shown before; outermost first. */
export async function nestedInstructions(workspace: Workspace, settings: AgentSettings['agent'], path: string, shown: Set<string>): Promise<Instructions[]> {
  const found: Instructions[] = []
  const segments = path.split('/').slice(0, -1)
  for (let depth = 1; depth <= segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/')
    if (folder === '' || folder === '.' || shown.has(folder)) continue
    shown.add(folder)
    const one = await firstOf(namesOf(settings), (name) => inside(workspace, `${folder}/${name}`))
    if (one) found.push(one)
  }
  return withinBudget(found, settings.instruction_max_bytes)
}

export const shownAs = (all: readonly Instructions[]): string => all.map(({ path, text }) => `<instructions path="${path}">\n${text.trim()}\n</instructions>`).join('\n\n')

const namesOf = ({ project_doc_fallback_filenames: others }: AgentSettings['agent']): string[] => ['AGENTS.override.md', 'AGENTS.md', ...others.filter((name) => !name.includes('/'))]

async function firstOf(names: readonly string[], read: (name: string) => Promise<Instructions | undefined>): Promise<Instructions | undefined> {
  for (const name of names) {
    const one = await read(name)
    if (one) return one
  }
  return undefined
}

const own = (path: string): Promise<Instructions | undefined> => readFile(path, 'utf8').then((text) => ({ path, text }), () => undefined)
const inside = (workspace: Workspace, path: string): Promise<Instructions | undefined> =>
  workspace.text(path, { max_bytes: 4 * hardStop }).then((text) => ({ path, text }), () => undefined)

/** The folders from the root of the repository down to the one above the workspace. */
function above(root: string): string[] {
  const folders: string[] = []
  for (let folder = root; !existsSync(join(folder, '.git')); folder = dirname(folder)) {
    if (dirname(folder) === folder) return []
    folders.unshift(dirname(folder))
  }
  return folders
}

function withinBudget(all: Instructions[], budget: number): Instructions[] {
  let left = budget
  const kept = [...all].reverse().map((one, index) => {
    const size = Buffer.byteLength(one.text)
    if (index === 0 && size > hardStop) throw new AgentError('VT_CONTEXT_INSTRUCTIONS_TOO_LARGE', `${one.path} has ${size} bytes; at most ${hardStop} are read.`)
    const fits = index === 0 || size <= left
    left -= fits ? size : 0
    return fits ? one : { path: one.path, text: `(${size} bytes, not shown: read the file when it matters)` }
  })
  return kept.reverse()
}
