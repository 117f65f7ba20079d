import { omitUndefined, type JsonObject } from '../shapes/index.js'
import { toText } from '../text/index.js'

/**
 * Fills a template of an alias's output from the answer of its target: `$.a.b` is a value, `$text` the rendering,
 * `$input.x` a field of the caller.
 * `{ each, item, where?, limit? }` is a list, `{ if, then, else? }` a choice, `{ text: "{a.b}" }` a text, `{ each,
 * line, join?, empty?, tail? }` a text of lines; anything else is itself.
 * One pass: values are never scanned again. Absent values are left out.
 */
export function reshape(template: unknown, answer: AliasAnswer): unknown {
  return fill(template, { ...answer, here: answer.output })
}

export interface AliasAnswer {
  output: JsonObject
  text?: string | undefined
  input: JsonObject
}
type Scope = AliasAnswer & { here: unknown }

function fill(template: unknown, scope: Scope): unknown {
  if (typeof template === 'string') return template.startsWith('$') ? lookUp(template, scope) : template
  if (typeof template !== 'object' || template === null) return template
  if (Array.isArray(template)) return template.map((item) => fill(item, scope)).filter((item) => item !== undefined)
  const form = template as JsonObject
  if ('each' in form && 'line' in form) return renderLines(form, scope)
  if ('each' in form && 'item' in form)
    return selectItems(form, scope).map((here) => fill(form['item'], { ...scope, here }))
  if ('if' in form && 'then' in form)
    return fill(isTruthy(fill(form['if'], scope)) ? form['then'] : form['else'], scope)
  if (Object.keys(form).length === 1 && typeof form['text'] === 'string') return render(form['text'], scope)
  return omitUndefined(Object.fromEntries(Object.entries(form).map(([key, value]) => [key, fill(value, scope)])))
}

const isTruthy = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/**
 * Returns the value of a path: `$`, `$.a.b` in the current value; `$out.a` in the whole output; `$text`; `$input.x`.
 */
function lookUp(path: string, { here, output, text, input }: Scope): unknown {
  const [root, ...keys] = path.split('.')
  const start =
    root === '$' ? here : root === '$out' ? output : root === '$input' ? input : root === '$text' ? text : undefined
  return keys.reduce<unknown>((value, key) => readOwn(value, key), start)
}

const readOwn = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined

function selectItems({ each, where, limit }: JsonObject, scope: Scope): unknown[] {
  const list = fill(each, scope)
  const kept = (Array.isArray(list) ? list : []).filter(
    (here) => where === undefined || isTruthy(fill(where, { ...scope, here })),
  )
  return kept.slice(0, typeof limit === 'number' ? limit : undefined)
}

function renderLines(form: JsonObject, scope: Scope): string {
  const all = selectItems(form, scope).map((here) => render(toText(form['line']), { ...scope, here }))
  if (all.length === 0 && form['empty'] !== undefined) return render(toText(form['empty']), scope)
  const tail = form['tail'] === undefined ? [] : [fill(form['tail'], scope)].filter((text) => typeof text === 'string')
  return [...all, ...tail].join(toText(form['join'] ?? '\n'))
}

/** Renders `{a.b}` as a value, `{x:line:60}` as its first line cut at 60 code points, `{{` and `}}` as braces. */
function render(template: string, scope: Scope): string {
  return template.replace(
    /\{\{|\}\}|\{(\$?[\w.$]*)(:line)?(?::(\d+))?\}/g,
    (whole, path: string | undefined, line: string | undefined, cut: string | undefined) => {
      if (path === undefined) return whole[0]!
      const value = lookUp(path.startsWith('$') ? path : path ? `$.${path}` : '$', scope)
      const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
      const first = line ? text.split(/\r?\n/, 1)[0]! : text
      const points = cut ? [...first] : []
      return points.length > Number(cut) ? `${points.slice(0, Number(cut)).join('')}…` : first
    },
  )
}
