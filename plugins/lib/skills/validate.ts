import { isUtf8 } from 'node:buffer'
import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import * as yaml from 'yaml'
import { readBytes } from '../../../core/documents/index.js'

/** The reference has no limit; this one is far above the limit of loading. */
const MAX_BYTES = 16 * 1_048_576

export interface Complaint {
  message: string
  /** Line of the SKILL.md, where it has one. */
  line?: number
}
/** Properties of a valid skill in the reference validator `skills-ref`. */
export interface Properties {
  name: string
  description: string
  file: string
}

/**
 * Validates a folder as the reference validator of https://agentskills.io does, with its messages and with lines. Its
 * errors are kept: the block ends at the next `---` anywhere, and a folded description counts its final newline.
 */
export function validateSkill(folder: string): { complaints: Complaint[]; properties?: Properties } {
  const fail = (message: string, line?: number) => ({ complaints: [{ message, ...(line !== undefined && { line }) }] })
  const stat = statSync(folder, { throwIfNoEntry: false })
  if (!stat) return fail(`Path does not exist: ${folder}`)
  if (!stat.isDirectory()) return fail(`Not a directory: ${folder}`)
  const file = ['SKILL.md', 'skill.md']
    .map((name) => join(folder, name))
    .find((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
  if (file === undefined) return fail('Missing required file: SKILL.md')

  let bytes: Buffer
  try {
    bytes = readBytes(file, { limit: MAX_BYTES })
  } catch (error) {
    return fail((error as Error).message)
  }
  if (!isUtf8(bytes)) return fail('SKILL.md is not UTF-8')
  const text = bytes.toString().replace(/\r\n?/g, '\n')
  if (!text.startsWith('---')) return fail('SKILL.md must start with YAML frontmatter (---)', 1)
  const end = text.indexOf('---', 3)
  if (end === -1) return fail('SKILL.md frontmatter not properly closed with ---', 1)
  const block = text.slice(3, end)

  const tree = yaml.parseDocument(block, {
    schema: 'failsafe',
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: 'error',
  })
  const line = (offset: number) => block.slice(0, offset).split('\n').length
  const [broken] = tree.errors
  if (broken) return fail(`Invalid YAML in frontmatter: ${broken.message}`, line(broken.pos[0]))
  const foreign = findDisallowed(tree)
  if (foreign) return fail(`Invalid YAML in frontmatter: ${foreign.what} are not allowed`, line(foreign.offset))
  if (!yaml.isMap(tree.contents)) return fail('SKILL.md frontmatter must be a YAML mapping', 1)
  const at = (key: string) =>
    line((tree.contents as yaml.YAMLMap<yaml.Scalar>).items.find((pair) => pair.key.value === key)?.key.range?.[0] ?? 0)
  const fields = tree.toJS() as Record<string, unknown>
  const complaints = validateFields(fields, basename(resolve(folder)), at)
  return {
    complaints,
    ...(complaints.length === 0 && {
      properties: { name: String(fields['name']).trim(), description: String(fields['description']).trim(), file },
    }),
  }
}

/** Returns the first YAML construct that the parser of the reference rejects. */
function findDisallowed(tree: yaml.Document.Parsed): { what: string; offset: number } | undefined {
  let found: { what: string; offset: number } | undefined
  const reject = (what: string, node: { range?: yaml.Range | null | undefined }) => {
    found = { what, offset: node.range?.[0] ?? 0 }
    return yaml.visit.BREAK
  }
  yaml.visit(tree, {
    Alias: (_, node) => reject('anchors and aliases', node),
    Node(_, node) {
      if (yaml.isCollection(node) && node.flow) return reject('flow collections', node)
      if (!yaml.isAlias(node) && node.anchor) return reject('anchors and aliases', node)
      return !yaml.isAlias(node) && node.tag !== undefined ? reject('tags', node) : undefined
    },
  })
  return found
}

const KNOWN_FIELDS = ['allowed-tools', 'compatibility', 'description', 'license', 'metadata', 'name']

function validateFields(fields: Record<string, unknown>, folder: string, at: (key: string) => number): Complaint[] {
  const complaints: Complaint[] = []
  const complain = (message: string, key?: string) =>
    complaints.push({ message, line: key === undefined ? 1 : at(key) })
  const extra = Object.keys(fields)
    .filter((key) => !KNOWN_FIELDS.includes(key))
    .sort()
  const list = `[${KNOWN_FIELDS.map((key) => `'${key}'`).join(', ')}]`
  if (extra.length > 0)
    complain(`Unexpected fields in frontmatter: ${extra.join(', ')}. Only ${list} are allowed.`, extra[0])
  if (!('name' in fields)) complain('Missing required field in frontmatter: name')
  else for (const message of validateName(fields['name'], folder)) complain(message, 'name')

  const { description, compatibility } = fields
  if (!('description' in fields)) complain('Missing required field in frontmatter: description')
  else if (typeof description !== 'string' || description.trim() === '')
    complain("Field 'description' must be a non-empty string", 'description')
  else if (countCharacters(description) > 1024)
    complain(`Description exceeds 1024 character limit (${countCharacters(description)} chars)`, 'description')
  if ('compatibility' in fields) {
    if (typeof compatibility !== 'string') complain("Field 'compatibility' must be a string", 'compatibility')
    else if (countCharacters(compatibility) > 500)
      complain(`Compatibility exceeds 500 character limit (${countCharacters(compatibility)} chars)`, 'compatibility')
  }
  return complaints
}

function validateName(value: unknown, folder: string): string[] {
  if (typeof value !== 'string' || value.trim() === '') return ["Field 'name' must be a non-empty string"]
  const name = value.trim().normalize('NFKC')
  return [
    countCharacters(name) > 64 && `Skill name '${name}' exceeds 64 character limit (${countCharacters(name)} chars)`,
    name !== name.toLowerCase() && `Skill name '${name}' must be lowercase`,
    /^-|-$/.test(name) && 'Skill name cannot start or end with a hyphen',
    name.includes('--') && 'Skill name cannot contain consecutive hyphens',
    !/^[\p{L}\p{N}-]+$/u.test(name) &&
      `Skill name '${name}' contains invalid characters. Only letters, digits, and hyphens are allowed.`,
    folder.normalize('NFKC') !== name && `Directory name '${folder}' must match skill name '${name}'`,
  ].filter((message) => message !== false)
}

const countCharacters = (text: string): number => Array.from(text).length
