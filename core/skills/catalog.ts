import type { JsonObject, Schema, Settings, ToolInfo } from '../shapes/index.js'
import type { Skill, Skills } from './types.js'

/** Most names of skills in the enum of the schema; a call lists more. */
const MAX_ENUM_NAMES = 50
/** No description is cut below this length to save room. */
const MIN_DESCRIPTION_CHARS = 120

/**
 * Adds the catalogue of skills to the tool whose property has `x-values: skills`, as a model sees the tool: the
 * catalogue ends the description, and up to `MAX_ENUM_NAMES` names are an enum. Returns nothing where there are no
 * skills. `renderText` renders names of tools for the reader.
 */
export function addSkillCatalogue(
  tool: ToolInfo,
  { skills, settings }: { skills(): Skills; settings: Pick<Settings, 'skills'> },
  renderText: (text: string) => string,
): ToolInfo | undefined {
  const properties = (tool.input['properties'] ?? {}) as Record<string, Schema>
  const [name, schema] = Object.entries(properties).find(([, property]) => property['x-values'] === 'skills') ?? []
  if (name === undefined || schema === undefined) return tool
  const { catalogue } = skills()
  if (catalogue.length === 0) return undefined
  const { 'x-values': _, ...plain } = schema
  const nameSchema: JsonObject =
    catalogue.length <= MAX_ENUM_NAMES ? { ...plain, enum: catalogue.map(({ name }) => name) } : plain
  return {
    ...tool,
    description: `${tool.description}\n${formatCatalogue(catalogue, settings.skills.catalog_max_chars, renderText)}`,
    input: { ...tool.input, properties: { ...properties, [name]: nameSchema } },
  }
}

/**
 * Formats one line per skill, at most `budget` characters: first descriptions are shortened, then skills are left out
 * and counted.
 */
function formatCatalogue(skills: readonly Skill[], budget: number, renderText: (text: string) => string): string {
  const lines = skills.map(
    ({ name, description, when_to_use }) =>
      [name, `${description} ${when_to_use ?? ''}`.replace(/\s+/g, ' ').trim()] as const,
  )
  let room = Math.max(...lines.map(([, text]) => text.length))
  const size = () => lines.reduce((sum, [name, text]) => sum + name.length + Math.min(text.length, room) + 5, 0)
  while (room > MIN_DESCRIPTION_CHARS && size() > budget) room = Math.max(MIN_DESCRIPTION_CHARS, Math.floor(room * 0.9))
  const shown: string[] = []
  let left = budget
  for (const [name, text] of lines) {
    const short = text.length > room ? `${text.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text
    const line = `- ${name}: ${short}`
    left -= line.length + 1
    if (left < 0) break
    shown.push(line)
  }
  const more = lines.length - shown.length
  return [...shown, ...(more > 0 ? [renderText(`${more} more: call {slot:list_skills}.`)] : [])].join('\n')
}
