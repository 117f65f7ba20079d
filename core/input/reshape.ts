import { definedOnly, type JsonObject } from '../shapes/index.js'
import { toText } from '../text/index.js'

/**
 * A template of an alias's output, filled from what its target answered:
 * `$.a.b` a value, `$text` the rendering, `$input.x` what the caller gave; `{ each, item, where?, limit? }` a list;
 * `{ if, then, else? }` a choice; `{ text: "{a.b}" }` a text; `{ each, line, join?, empty?, tail? }` a text of lines; anything else stands for
 * itself. One pass: what came from a value is never scanned again. What is not there vanishes.
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
  if (typeof template === 'string') return template.startsWith('$') ? look(template, scope) : template
  if (typeof template !== 'object' || template === null) return template
  if (Array.isArray(template)) return template.map((item) => fill(item, scope)).filter((item) => item !== undefined)
  const form = template as JsonObject
  if ('each' in form && 'line' in form) return lines(form, scope)
  if ('each' in form && 'item' in form) return items(form, scope).map((here) => fill(form['item'], { ...scope, here }))
  if ('if' in form && 'then' in form) return fill(truthy(fill(form['if'], scope)) ? form['then'] : form['else'], scope)
  if (Object.keys(form).length === 1 && typeof form['text'] === 'string') return render(form['text'], scope)
  return definedOnly(Object.fromEntries(Object.entries(form).map(([key, value]) => [key, fill(value, scope)])))
}

const truthy = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/** `$`, `$.a.b` in what is at hand; `$out.a` in the whole output; `$text`; `$input.x`. */
function look(path: string, { here, output, text, input }: Scope): unknown {
  const [root, ...keys] = path.split('.')
  const start =
    root === '$' ? here : root === '$out' ? output : root === '$input' ? input : root === '$text' ? text : undefined
  return keys.reduce<unknown>((value, key) => own(value, key), start)
}

const own = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined

function items({ each, where, limit }: JsonObject, scope: Scope): unknown[] {
  const list = fill(each, scope)
  const kept = (Array.isArray(list) ? list : []).filter(
    (here) => where === undefined || truthy(fill(where, { ...scope, here })),
  )
  return kept.slice(0, typeof limit === 'number' ? limit : undefined)
}

function lines(form: JsonObject, scope: Scope): string {
  const all = items(form, scope).map((here) => render(toText(form['line']), { ...scope, here }))
  if (all.length === 0 && form['empty'] !== undefined) return render(toText(form['empty']), scope)
  const tail = form['tail'] === undefined ? [] : [fill(form['tail'], scope)].filter((text) => typeof text === 'string')
  return [...all, ...tail].join(toText(form['join'] ?? '\n'))
}

/** `{a.b}` is a value at hand, `{x:line:60}` its first line cut at 60 code points, `{{` and `}}` are braces. */
function render(template: string, scope: Scope): string {
  return template.replace(
    /\{\{|\}\}|\{(\$?[\w.$]*)(:line)?(?::(\d+))?\}/g,
    (whole, path: string | undefined, line: string | undefined, cut: string | undefined) => {
      if (path === undefined) return whole[0]!
      const value = look(path.startsWith('$') ? path : path ? `$.${path}` : '$', scope)
      const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
      const first = line ? text.split(/\r?\n/, 1)[0]! : text
      const points = cut ? [...first] : []
      return points.length > Number(cut) ? `${points.slice(0, Number(cut)).join('')}…` : first
    },
  )
}
