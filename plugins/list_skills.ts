import { ok, type Handler, type Skill } from '../core/index.js'
import { getLoadedSkills, toCallerPath } from './lib/skills/index.js'

interface Input {
  query?: string
  scope: 'workspace' | 'user' | 'bundled' | 'all'
  page: number
  per_page: number
}

/** `list_skills`: searches for skills again and lists those that can be loaded. */
export default ((call, { host, session, workspace }) => {
  const { query = '', scope, page, per_page } = call.input
  const { all, skipped } = host.skills({ fresh: true })
  const loaded = getLoadedSkills(session)
  const words = fold(query).split(/\s+/).filter(Boolean)
  const matches = ({ name, description }: Skill) => {
    const text = fold(`${name} ${description}`)
    return words.every((word) => text.includes(word))
  }
  const isListed = (skill: Skill) =>
    (skill.state === 'active' || skill.state === 'shadowed') &&
    (!skill.hidden || call.caller.surface === 'call') &&
    (scope === 'all' || skill.scope === scope) &&
    matches(skill)
  // The bare name of a shadowed skill would load another one, so its id is listed.
  const toListedName = (skill: Skill) => (skill.state === 'active' ? skill.name : skill.id)
  const found = all.filter(isListed).sort((a, b) => (toListedName(a) < toListedName(b) ? -1 : 1))
  const skills = found.slice((page - 1) * per_page, page * per_page).map((skill) => ({
    name: toListedName(skill),
    description: skill.description,
    scope: skill.scope,
    path: toCallerPath(skill.file, workspace),
    loaded: loaded.has(skill.id),
    ...(skill.metadata['keywords'] !== undefined && {
      keywords: skill.metadata['keywords'].split(/[\s,]+/).filter(Boolean),
    }),
  }))
  const has_more = page * per_page < found.length
  const next = { tool: 'list_skills', input: { ...call.given, page: page + 1 } }
  const left = skipped.slice(0, 20).map(({ path, reason }) => ({ path: toCallerPath(path, workspace), reason }))
  const lines = [
    ...skills.map(({ name, description }) => `- ${name}: ${description}`),
    ...left.map(({ path, reason }) => `[skipped ${path}: ${reason}]`),
    ...(skipped.length > left.length ? [`[${skipped.length - left.length} more skipped]`] : []),
  ]
  if (has_more) lines.push(`[${found.length} in total; next page=${page + 1}]`)
  return ok(
    { skills, total: found.length, page, per_page, has_more, skipped: left, ...(has_more && { next }) },
    { text: lines.join('\n') || 'No skills.' },
  )
}) satisfies Handler<Input>

const fold = (text: string): string => text.normalize('NFKC').toLowerCase()
