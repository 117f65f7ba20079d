// Writes the types that the schemas imply: `Settings` and `Config` from the schema of the settings, `BuiltinSlots` from the manifests of the actions.
// `--check` only says whether the files are fresh.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'oxfmt'
import { parse } from 'yaml'
import { renderComment, renderNote, toPascalCase, renderType } from '../build/plugins/lib/base/type_text.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const manifests = join(root, 'manifests')
const all = () => readManifests(manifests)
const configSchema = join(manifests, 'schema/config.1.json')
/** File → what makes its text. */
const generated = new Map([
  [join(root, 'core/shapes/settings_types.ts'), () => settingsTypes(JSON.parse(readFileSync(configSchema, 'utf8')))],
  [join(manifests, 'slots.d.ts'), () => slotTypes(actionsOf(all()), addedOf(all()))],
])

const head = (source) => `// Generated from ${source} by \`npm run docs\`. Change that, not this.\n`

/** The types `Settings` and `Config`, with a type of its own for each definition that the schema names. */
function settingsTypes(schema) {
  const named = Object.entries(schema.$defs).map(([name, part]) => ({ name: `Config${toPascalCase(name)}`, part }))
  const context = { refer: (name) => `Config${toPascalCase(name)}`, open: true }
  const settings = `/** The settings of all layers with their defaults. */\nexport type Settings = ${renderType(schema, { ...context, resolved: true }, '')}\n`
  const types = named.map(
    ({ name, part }) => `${renderComment(renderNote(part), '')}type ${name} = ${renderType(part, context, '')}\n`,
  )
  const config = `/** The content of a settings file: any part of the settings. */\nexport type Config = Part<Settings>\n`
  const part = `/** Makes all keys optional, except those in lists and maps. */\ntype Part<Whole> = Whole extends readonly unknown[] ? Whole : string extends keyof Whole ? Whole : Whole extends object ? { [Key in keyof Whole]?: Part<Whole[Key]> } : Whole\n`
  const open =
    '/** A map with any names; some of them are known. */\ntype Open<Name extends string, Value> = { [name in Name]?: Value } & { [name: string]: Value }\n'
  return `${head('manifests/schema/config.1.json')}\n${[settings, config, ...types, open, part].join('\n')}`
}

/** The interface `BuiltinSlots`: what each slot of the program takes and answers. */
function slotTypes(actions, added) {
  const named = []
  const outputs = new Map()
  const members = actions.map(({ slot, manifest: { title, input, output } }) => {
    const known = [...outputs].find(([, text]) => text === JSON.stringify(output))?.[0]
    if (known === undefined && output) outputs.set(slot, JSON.stringify(output))
    const prefix = toPascalCase(slot.replace('/', '_'))
    const context = { refer: (name) => prefix + toPascalCase(name), open: false }
    if (known === undefined)
      named.push(
        ...Object.entries({ ...input.$defs, ...output?.$defs }).map(
          ([name, part]) =>
            `${renderComment(renderNote(part), '')}type ${context.refer(name)} = ${renderType(part, context, '')}\n`,
        ),
      )
    const taken = renderType(
      { ...input, type: 'object', properties: { ...added, ...input.properties } },
      context,
      '    ',
    )
    const answered =
      known === undefined ? renderType(output ?? true, context, '    ') : `BuiltinSlots['${known}']['output']`
    return `${renderComment(title, '  ')}  '${slot}': {\n    input: ${taken}\n    output: ${answered}\n  }\n`
  })
  const all = `/** What the slots that come with the program take, but for the word \`action\`, and what they answer. */\nexport interface BuiltinSlots {\n${members.join('')}}\n`
  return [head('the manifests of the actions'), all, ...named].join('\n')
}

/** Every manifest of the program; of a slot with several, the primary says its contract. */
function readManifests(folder) {
  const files = readdirSync(folder, { recursive: true })
    .filter((file) => /\.ya?ml$/.test(file))
    .sort()
  return files.map((file) => parse(readFileSync(join(folder, file), 'utf8')))
}
const slotOf = ({ action, slot, name }) => action ?? slot ?? name
const actionsOf = (all) =>
  all
    .filter(
      ({ kind = 'action', stage = 'primary', alias, input }) =>
        kind === 'action' && stage === 'primary' && alias === undefined && input !== undefined,
    )
    .map((manifest) => ({ slot: slotOf(manifest), manifest }))
/** What policies and compactors that concern every slot add to its input. */
const addedOf = (all) =>
  Object.assign(
    {},
    ...all
      .filter(({ kind, slots, input }) => /^(?:policy|compactor)$/.test(kind) && !slots && input)
      .map(({ input }) => input.properties),
  )

const style = { printWidth: 120, semi: false, singleQuote: true }
const stale = []
for (const [file, make] of generated) {
  const { code: text } = await format(file, make(), style)
  const before = readdirSync(dirname(file)).includes(relative(dirname(file), file)) ? readFileSync(file, 'utf8') : ''
  if (text !== before && !process.argv.includes('--check')) writeFileSync(file, text)
  if (text !== before) stale.push(relative(root, file))
}
const names = stale.join(', ')
if (stale.length > 0)
  console.log(
    process.argv.includes('--check') ? `Stale: ${names}. Write them with \`npm run docs\`.` : `Written: ${names}.`,
  )
process.exitCode = process.argv.includes('--check') && stale.length > 0 ? 1 : 0
