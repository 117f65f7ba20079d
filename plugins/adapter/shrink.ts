import { isUtf8 } from 'node:buffer'
import { RE2JS } from 're2js'
import { problem, type Adapter, type Compactor, type JsonObject, type Result } from '../../core/index.js'

interface Shrink {
  head_lines?: number
  tail_lines?: number
  max_text_bytes?: number
  drop?: string[]
  redact?: { pattern: string; replace?: string }[]
}
type Edit = (text: string) => string

/** Turns a compactor in data into a function that redacts and shortens texts and drops members. */
const shrink: Adapter<Compactor> = (contribution) => {
  const declared = contribution.manifest['shrink'] as Shrink
  const cover = createRedaction(declared.redact ?? [], contribution.id)
  const cut = createTruncation(declared)
  return (result) => {
    if (!result.ok)
      return {
        ...result,
        error: {
          ...result.error,
          message: cover(result.error.message),
          ...(result.error.details && { details: mapTexts(result.error.details, cover) }),
        },
      }
    const output = (declared.drop ?? []).reduce(
      dropMember,
      mapTexts(result.output, (text) => cut(cover(text))),
    )
    const shown = result.text === undefined ? {} : { text: cutBytes(cut(cover(result.text)), declared.max_text_bytes) }
    return { ...result, output, ...shown } satisfies Result
  }
}
export default shrink

/** Creates the redaction; every pattern runs in linear time. Throws VT_SCHEMA_PATTERN. */
function createRedaction(redact: NonNullable<Shrink['redact']>, id: string): Edit {
  const edits = redact.map(({ pattern, replace = '…' }): Edit => {
    try {
      const compiled = RE2JS.compile(pattern)
      // The replacement is literal text, not a reference to groups.
      return (text) => compiled.matcher(text).replaceAll(RE2JS.quoteReplacement(replace))
    } catch (error) {
      throw problem('VT_SCHEMA_PATTERN', { pattern: `${pattern} of ${id}`, reason: (error as Error).message })
    }
  })
  return (text) => edits.reduce((covered, edit) => edit(covered), text)
}

/** Creates the truncation to the first and last lines of longer texts. */
function createTruncation({ head_lines, tail_lines }: Shrink): Edit {
  if (head_lines === undefined && tail_lines === undefined) return (text) => text
  const [head, tail] = [head_lines ?? 0, tail_lines ?? 0]
  return (text) => {
    // A newline at the end starts no further line.
    const end = text.endsWith('\n') ? '\n' : ''
    const lines = text.slice(0, text.length - end.length).split('\n')
    const left = lines.length - head - tail
    return left <= 1
      ? text
      : [...lines.slice(0, head), `[${left} lines left out]`, ...lines.slice(lines.length - tail)].join('\n') + end
  }
}

function cutBytes(text: string, bytes: number | undefined): string {
  const all = Buffer.from(text)
  if (bytes === undefined || all.length <= bytes) return text
  let end = bytes
  while (end > 0 && !isUtf8(all.subarray(0, end))) end--
  return `${all.toString('utf8', 0, end)}\n[${all.length - end} bytes left out]`
}

function mapTexts<T>(value: T, edit: Edit): T
function mapTexts(value: unknown, edit: Edit): unknown {
  if (typeof value === 'string') return edit(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item as unknown, edit))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item as unknown, edit)]))
}

/** Returns the document without the member at a JSON pointer. */
function dropMember(document: JsonObject, pointer: string): JsonObject {
  const [name, ...rest] = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (name === undefined || !Object.hasOwn(document, name)) return document
  const { [name]: inner, ...others } = document
  if (rest.length === 0) return others
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return document
  return {
    ...document,
    [name]: dropMember(
      inner as JsonObject,
      `/${rest.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`,
    ),
  }
}
