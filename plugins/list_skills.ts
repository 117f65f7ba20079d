import { ok, type Handler, type Skill } from '../core/index.js'
import { getLoadedSkills, pathOf } from './lib/skills/index.js'

interface Input {
  query?: string
  scope: 'workspace' | 'user' | 'bundled' | 'all'
  page: number
  per_page: number
}

/** `list_skills`: what can be loaded, looked for anew. */
export default ((call, { host, session, workspace }) => {
  const { query = '', scope, page, per_page } = call.input
  const { all, skipped } = host.skills({ fresh: true })
  const loaded = getLoadedSkills(session)
  const words = fold(query).split(/\s+/).filter(Boolean)
  const matches = ({ name, description }: Skill) => {
    const text = fold(`${name} ${description}`)
    return words.every((word) => text.includes(word))
  }
  const shown = (skill: Skill) =>
    (skill.state === 'active' || skill.state === 'shadowed') &&
    (!skill.hidden || call.caller.surface === 'call') &&
    (scope === 'all' || skill.scope === scope) &&
    matches(skill)
  // A bare name that means another skill would load that one.
  const nameOf = (skill: Skill) => (skill.state === 'active' ? skill.name : skill.id)
  const found = all.filter(shown).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const skills = found.slice((page - 1) * per_page, page * per_page).map((skill) => ({
    name: nameOf(skill),
    description: skill.description,
    scope: skill.scope,
    path: pathOf(skill.file, workspace),
    loaded: loaded.has(skill.id),
    ...(skill.metadata['keywords'] !== undefined && {
      keywords: skill.metadata['keywords'].split(/[\s,]+/).filter(Boolean),
    }),
  }))
  const has_more = page * per_page < found.length
  const next = { tool: 'list_skills', input: { ...call.given, page: page + 1 } }
  const left = skipped.slice(0, 20).map(({ path, reason }) => ({ path: pathOf(path, workspace), reason }))
  const lines = [
    ...skills.map(({ name, description }) => `- ${name}: ${description}`),
    ...left.map(({ path, reason }) => `[skipped ${path}: ${reason}]`),
  ]
  if (has_more) lines.push(`[${found.length} in all; next page=${page + 1}]`)
  return ok(
    { skills, total: found.length, page, per_page, has_more, skipped: left, ...(has_more && { next }) },
    { text: lines.join('\n') || 'No skills.' },
  )
}) satisfies Handler<Input>

const fold = (text: string): string => text.normalize('NFKC').toLowerCase()
