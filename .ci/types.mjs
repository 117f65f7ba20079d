// Writes the types that the schemas imply: `Config` from the schema of the settings, `BuiltinSlots` from the manifests of the actions.
// `--check` only says whether the files are fresh.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const manifests = join(root, 'manifests')
const all = () => readManifests(manifests)
const configSchema = join(manifests, 'schema/config.1.json')
/** File → what makes its text. */
const generated = new Map([
  [join(root, 'core/config/config_types.ts'), () => configTypes(JSON.parse(readFileSync(configSchema, 'utf8')))],
  [join(manifests, 'slots.d.ts'), () => slotTypes(actionsOf(all()), addedOf(all()))],
])

const head = (source) => `// Generated from ${source} by \`npm run docs\`. Change that, not this.\n`
const pascal = (name) => name.replace(/(?:^|[_-])([a-z])/g, (_, letter) => letter.toUpperCase())

/** The type `Config` with a type of its own for each definition that the schema names. */
function configTypes(schema) {
  const named = Object.entries(schema.$defs).map(([name, part]) => ({ name: `Config${pascal(name)}`, part }))
  const context = { refer: (name) => `Config${pascal(name)}`, open: true }
  const types = [{ name: 'Config', part: schema, exported: true }, ...named].map(({ name, part, exported }) =>
    `${comment(part.description && exported ? 'What a settings file says: any part of the settings.' : noteOf(part), '')}${exported ? 'export ' : ''}type ${name} = ${typeOf(part, context, '')}\n`)
  const open = '/** A map with any names; some of them are known. */\ntype Open<Name extends string, Value> = { [name in Name]?: Value } & { [name: string]: Value }\n'
  return `${head('manifests/schema/config.1.json')}\n${types.join('\n')}\n${open}`
}

/** The interface `BuiltinSlots`: what each slot of the program takes and answers. */
function slotTypes(actions, added) {
  const named = []
  const outputs = new Map()
  const members = actions.map(({ slot, manifest: { title, input, output } }) => {
    const known = [...outputs].find(([, text]) => text === JSON.stringify(output))?.[0]
    if (known === undefined && output) outputs.set(slot, JSON.stringify(output))
    const prefix = pascal(slot.replace('/', '_'))
    const context = { refer: (name) => prefix + pascal(name), open: false }
    if (known === undefined) named.push(...Object.entries({ ...input.$defs, ...output?.$defs }).map(([name, part]) => `${comment(noteOf(part), '')}type ${context.refer(name)} = ${typeOf(part, context, '')}\n`))
    const taken = typeOf({ ...input, type: 'object', properties: { ...added, ...input.properties } }, context, '    ')
    const answered = known === undefined ? typeOf(output ?? true, context, '    ') : `BuiltinSlots['${known}']['output']`
    return `${comment(title, '  ')}  '${slot}': {\n    input: ${taken}\n    output: ${answered}\n  }\n`
  })
  const all = `/** What the slots that come with the program take, but for the word \`action\`, and what they answer. */\nexport interface BuiltinSlots {\n${members.join('')}}\n`
  return [head('the manifests of the actions'), all, ...named].join('\n')
}

/** Every manifest of the program; of a slot with several, the primary says its contract. */
function readManifests(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => /\.ya?ml$/.test(file)).sort()
  return files.map((file) => parse(readFileSync(join(folder, file), 'utf8')))
}
const slotOf = ({ action, slot, name }) => action ?? slot ?? name
const actionsOf = (all) =>
  all
    .filter(({ kind = 'action', stage = 'primary', alias, input }) => kind === 'action' && stage === 'primary' && alias === undefined && input !== undefined)
    .map((manifest) => ({ slot: slotOf(manifest), manifest }))
/** What policies and compactors that concern every slot add to its input. */
const addedOf = (all) => Object.assign({}, ...all.filter(({ kind, slots, input }) => /^(?:policy|compactor)$/.test(kind) && !slots && input).map(({ input }) => input.properties))

/** Keywords that narrow a value without changing its type, and those that say nothing of values. */
const silent = /^(?:x-.*|\$schema|\$id|\$defs|title|description|default|deprecated|examples|format|pattern|(?:min|max)(?:imum|Length|Items|Properties)|exclusive(?:Minimum|Maximum)|multipleOf|uniqueItems|if|then|else|not|allOf|dependentRequired|dependentSchemas|propertyNames|contains)$/
const spoken = /^(?:\$ref|const|enum|type|properties|required|additionalProperties|items|prefixItems|anyOf|oneOf)$/

/** The TypeScript of a schema. `open`: an object whose schema does not close it may have more keys. */
function typeOf(schema, context, indent) {
  if (schema === true) return 'unknown'
  for (const key of Object.keys(schema)) if (!silent.test(key) && !spoken.test(key)) throw new Error(`The keyword '${key}' has no type yet.`)
  if (schema.$ref !== undefined) return context.refer(schema.$ref.replace('#/$defs/', ''))
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const branches = (schema.anyOf ?? schema.oneOf ?? []).filter(isShape)
  const types = [schema.type ?? (schema.properties ? 'object' : [])].flat()
  const own = types.map((type) => ofType(type, schema, context, indent))
  if (branches.length === 0) return own.length > 0 ? [...new Set(own)].join(' | ') : 'unknown'
  const union = [...new Set(branches.map((branch) => typeOf(branch, context, indent)))]
  if (own.length === 0) return union.join(' | ')
  return schema.properties ? `${own[0]} & ${grouped(union)}` : union.join(' | ')
}

/** Does a branch say what a value is, and not only which keys must be there or how large it is? */
const isShape = (branch) => ['$ref', 'const', 'enum', 'type', 'properties', 'items'].some((key) => key in branch) && !(Object.keys(branch).join() === 'const' && typeof branch.const === 'number')

function ofType(type, schema, context, indent) {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'array':
      return schema.prefixItems ? `[${schema.prefixItems.map((item) => typeOf(item, context, indent)).join(', ')}]` : `${grouped([typeOf(schema.items ?? true, context, indent)])}[]`
    case 'object':
      return objectType(schema, context, indent)
    default:
      throw new Error(`There is no type for '${type}'.`)
  }
}

const grouped = (types) => (types.length > 1 || /[|&](?![^{]*\})/.test(types[0].replace(/\{[\s\S]*\}/g, '{}')) ? `(${types.join(' | ')})` : types[0])

function objectType({ properties = {}, required = [], additionalProperties, 'x-fired': known = [] }, context, indent) {
  const inner = `${indent}  `
  const rest = additionalProperties ?? (context.open || Object.keys(properties).length === 0)
  const map = rest === false ? undefined : `{ [name: string]: ${typeOf(rest, context, indent)} }`
  // Names that mean something in an open map are completed all the same.
  if (known.length > 0) return `Open<${known.map((name) => `\n${inner}| ${literal(name)}`).join('')},\n${inner}${typeOf(rest, context, inner)}\n${indent}>`
  const lines = Object.entries(properties).map(([key, part]) => {
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : `'${key}'`
    return `${comment(noteOf(part), inner)}${inner}${name}${required.includes(key) ? '' : '?'}: ${typeOf(part, context, inner)}\n`
  })
  if (lines.length === 0) return map ?? '{ [name: string]: never }'
  const closed = `{\n${lines.join('')}${indent}}`
  return map === undefined ? closed : rest === true ? `{\n${lines.join('')}${inner}[name: string]: unknown\n${indent}}` : `${map} & ${closed}`
}

function literal(value) {
  return typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value)
}

/** What an editor shows of a key. */
function noteOf({ description = '', default: value, deprecated }) {
  const isEmpty = value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
  const shown = isEmpty || description.startsWith('Default:') ? '' : `Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`
  return [deprecated ? '@deprecated' : '', description && (/[.!?]$/.test(description) ? description : `${description}.`), shown].filter(Boolean).join(' ')
}

const comment = (text, indent) => (text ? `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ').trim()} */\n` : '')

const stale = [...generated].filter(([file, make]) => {
  const text = make()
  const before = readdirSync(dirname(file)).includes(relative(dirname(file), file)) ? readFileSync(file, 'utf8') : ''
  if (text !== before && !process.argv.includes('--check')) writeFileSync(file, text)
  return text !== before
})
const names = stale.map(([file]) => relative(root, file)).join(', ')
if (stale.length > 0) console.log(process.argv.includes('--check') ? `Stale: ${names}. Write them with \`npm run docs\`.` : `Written: ${names}.`)
process.exitCode = process.argv.includes('--check') && stale.length > 0 ? 1 : 0
