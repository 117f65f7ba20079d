import type { JsonObject, Schema, Settings, ToolInfo } from '../shapes/index.js'
import type { Skill, Skills } from './types.js'

/** So many names of skills stand in the schema at most; where there are more, they are listed by a call. */
const FEW = 50
/** No description is cut shorter than this to make room. */
const SHORTEST = 120

/**
 * A tool whose property says `x-values: skills` as a model is shown it: the catalogue ends its description, and few enough names are an
 * enum. Without any skill there is no such tool. `speak` puts the names of tools in the words of whoever is shown this.
 */
export function withSkills(
  tool: ToolInfo,
  { skills, settings }: { skills(): Skills; settings: Pick<Settings, 'skills'> },
  speak: (text: string) => string,
): ToolInfo | undefined {
  const properties = (tool.input['properties'] ?? {}) as Record<string, Schema>
  const [name, schema] = Object.entries(properties).find(([, property]) => property['x-values'] === 'skills') ?? []
  if (name === undefined || schema === undefined) return tool
  const { catalogue } = skills()
  if (catalogue.length === 0) return undefined
  const { 'x-values': _, ...plain } = schema
  const named: JsonObject = catalogue.length <= FEW ? { ...plain, enum: catalogue.map(({ name }) => name) } : plain
  return {
    ...tool,
    description: `${tool.description}\n${catalogueText(catalogue, settings.skills.catalog_max_chars, speak)}`,
    input: { ...tool.input, properties: { ...properties, [name]: named } },
  }
}

/** One line a skill, at most `budget` characters: descriptions are shortened first, then skills left out and counted. */
function catalogueText(skills: readonly Skill[], budget: number, speak: (text: string) => string): string {
  const lines = skills.map(
    ({ name, description, when_to_use }) =>
      [name, `${description} ${when_to_use ?? ''}`.replace(/\s+/g, ' ').trim()] as const,
  )
  let room = Math.max(...lines.map(([, text]) => text.length))
  const size = () => lines.reduce((sum, [name, text]) => sum + name.length + Math.min(text.length, room) + 5, 0)
  while (room > SHORTEST && size() > budget) room = Math.max(SHORTEST, Math.floor(room * 0.9))
  const shown: string[] = []
  let left = budget
  for (const [name, text] of lines) {
    const line = `- ${name}: ${text.length > room ? `${text.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text}`
    left -= line.length + 1
    if (left < 0) break
    shown.push(line)
  }
  const more = lines.length - shown.length
  return [...shown, ...(more > 0 ? [speak(`${more} more: call {slot:list_skills}.`)] : [])].join('\n')
}
