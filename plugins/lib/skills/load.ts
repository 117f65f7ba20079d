import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { fail, problem, type Call, type Result } from '../../../core/shapes/index.js'
import type { Context, Session } from '../../../core/contract/index.js'
import { parseSkill, type Skill, type SkillText } from '../../../core/skills/index.js'
import { measureDistance } from '../../../core/text/index.js'
import { openWorkspace, type Handle, type Workspace } from '../../../core/workspace/index.js'
import { nextCall } from '../base/index.js'

/** Returns the ids of the skills that a session has loaded. */
export const getLoadedSkills = (session: Session): Set<string> =>
  session.state('skills/loaded', () => new Set<string>())

/** Finds a skill by name. Hides skills that only the user may load from models. */
export function findSkill(
  name: string,
  { host }: Pick<Context, 'host'>,
  { surface }: Call['caller'],
): Skill | undefined {
  const visible = (skill: Skill | undefined) =>
    skill && skill.hidden && surface !== 'call' && surface !== 'prompt' ? undefined : skill
  return visible(host.skills().find(name)) ?? visible(host.skills({ fresh: true }).find(name))
}

export function unknownSkill(name: string, { host }: Pick<Context, 'host'>): Result {
  const known = host.skills().catalogue.map((skill) => skill.name)
  const close = known
    .flatMap((one) => {
      const most = Math.max(2, Math.floor(one.length / 3))
      const far = measureDistance(name.toLowerCase(), one, most)
      return far <= most ? [[far, one] as const] : []
    })
    .sort(([a], [b]) => a - b)
    .slice(0, 3)
  const similar = close.length > 0 ? `; similar: ${close.map(([, one]) => one).join(', ')}` : ''
  return fail('VT_SKILL_UNKNOWN', `Skill not found: '${name}'${similar}.`, {
    next: nextCall('skills'),
    ...(close.length > 0 && { details: { similar: close.map(([, one]) => one) } }),
  })
}

/** Returns the path of a file of a skill: relative if inside the workspace. */
export function toCallerPath(file: string, { root }: Pick<Workspace, 'root'>): string {
  const way = relative(root, file)
  return way === '' ? '.' : way.startsWith('..') || isAbsolute(way) ? file : way.replaceAll('\\', '/')
}

/** Access to the files of one skill. */
export interface SkillFolder extends Disposable {
  /** Path of the folder in the workspace; absent when it lies outside. */
  readonly inside?: string
  readonly workspace: Workspace
  /** Returns the path of a resource in `workspace`. Throws VT_PATH_OUTSIDE for a path with `..` out of the skill. */
  at(resource: string): string
  /** Opens a file or folder. Throws VT_PATH_OUTSIDE when a link leads out of the skill. */
  open(resource: string): Promise<Handle>
}

/** Opens the folder of a skill: through the workspace if inside it, otherwise as a separate workspace. */
export function openFolder(skill: Skill, { workspace }: Pick<Context, 'workspace'>): SkillFolder {
  const path = toCallerPath(skill.folder, workspace)
  const own = isAbsolute(path) ? openWorkspace(skill.folder, { home: workspace.home }) : undefined
  const base = own ? '.' : path
  const outside = (resource: string) =>
    problem(
      'VT_PATH_OUTSIDE',
      { path: resource },
      { hint: `Name a file of the skill ${skill.name}, relative to its folder.` },
    )
  const at = (resource: string): string => {
    const way = relative(skill.folder, join(isAbsolute(resource) ? '' : skill.folder, resource))
    if (way === '..' || way.startsWith('../') || isAbsolute(way)) throw outside(resource)
    return join(base, way || '.')
  }
  return {
    ...(!own && { inside: path }),
    workspace: own ?? workspace,
    at,
    async open(resource) {
      const handle = await (own ?? workspace).open(at(resource))
      if (own || handle.resolved === base || handle.resolved.startsWith(`${base}/`)) return handle
      await handle.close()
      throw outside(resource)
    },
    [Symbol.dispose]: () => own?.close(),
  }
}

const MAX_BYTES = 1024 * 1024

/** Reads the current file of a skill; returns a failure if it is invalid. */
export async function readSkill(
  skill: Skill,
  folder: SkillFolder,
): Promise<{ text: SkillText; body: string } | Result> {
  if (skill.body !== undefined) return { text: skill, body: skill.body }
  const bytes = await readSkillFile(skill, folder)
  // The name of the skill may be that of a link to its folder.
  const { skill: text, body, diagnostics } = parseSkill(bytes, join(skill.name, basename(skill.file)))
  if (text) return { text, body }
  const { message = '', files = [] } = diagnostics.findLast(({ severity }) => severity === 'error') ?? {}
  const line = /:(\d+)$/.exec(files[0] ?? '')?.[1]
  return fail(
    'VT_SKILL_INVALID',
    `${toCallerPath(skill.file, folder.workspace)}${line ? `:${line}` : ''}: ${message}`,
    {
      details: { line: Number(line ?? 1) },
    },
  )
}

/** Reads the file of a skill; the user's own may be a link to a file of another folder. */
async function readSkillFile(skill: Skill, folder: SkillFolder): Promise<Buffer> {
  if (skill.layer !== 'user' || dirname(skill.file) === skill.folder) {
    await using file = await folder.open(basename(skill.file))
    return await file.read(0, MAX_BYTES + 1)
  }
  const target = openWorkspace(dirname(skill.file), { home: folder.workspace.home })
  try {
    await using file = await target.open(basename(skill.file))
    return await file.read(0, MAX_BYTES + 1)
  } finally {
    target.close()
  }
}

const RESOURCE_LIMITS = { files: 200, depth: 4, entries: 2000 }

/** Lists the files next to `SKILL.md`, sorted, without hidden files and links out of the skill. */
export async function listSkillResources(skill: Skill, folder: SkillFolder): Promise<string[]> {
  if (skill.body !== undefined) return []
  const found: string[] = []
  let entries = 0
  const walk = async (way: string, depth: number): Promise<void> => {
    for (const { name, kind } of await folder.workspace.listNames(folder.at(way || '.'))) {
      if (++entries > RESOURCE_LIMITS.entries || name.startsWith('.') || name === 'node_modules') continue
      const path = way ? `${way}/${name}` : name
      if (kind === 'directory') {
        if (depth < RESOURCE_LIMITS.depth) await walk(path, depth + 1)
      } else if (path !== basename(skill.file) && (kind === 'file' || (kind === 'link' && (await leadsToFile(path)))))
        found.push(path)
    }
  }
  const leadsToFile = async (path: string): Promise<boolean> => {
    try {
      await using handle = await folder.open(path)
      return handle.kind === 'file'
    } catch {
      return false
    }
  }
  await walk('', 1)
  return found.sort().slice(0, RESOURCE_LIMITS.files)
}
