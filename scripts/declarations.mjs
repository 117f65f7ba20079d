// Rolls the declarations up: one file for each export of the package, which imports no package but the types of Node.
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = 'dist/types'
const front = 'vtcode:front'

/** What `types` of the package's exports names, from what tsc wrote beside the modules that `default` names. */
export async function rollDeclarations() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const doors = Object.values(exports).filter(({ types }) => types !== undefined)
  rmSync(join(root, folder), { recursive: true, force: true })
  for (const door of doors) await roll(door, sourceOf(exports['.']))
}

const sourceOf = ({ default: module }) => join(root, module.replace('./dist/', 'build/').replace(/js$/, 'd.ts'))

async function roll(door, frontDoor) {
  const source = sourceOf(door)
  const bundle = await rolldown({
    input: source,
    // A package that is reached for what no door shows goes with what is dropped; one that is left is refused below.
    external: (id) => id === front || !/^[./\0]/.test(id),
    plugins: [source === frontDoor ? withSlots : throughFront(frontDoor), dts({ dtsInput: true, tsconfig: false })],
  })
  const { output } = await bundle.write({
    file: join(root, door.types),
    format: 'esm',
    // With Node's types installed a project need not name them; ours speak of buffers and streams.
    banner: '/// <reference types="node" />',
    plugins: [{ name: 'finish', renderChunk: (code) => describing(code).replaceAll(`"${front}"`, '"./index.js"') }],
  })
  const strange = output.flatMap(({ imports }) => imports).filter((name) => !name.startsWith('node:') && name !== front)
  if (strange.length > 0) throw new Error(`${door.types} would import ${strange.join(', ')}.`)
}

/** A description that the printer put behind the member before it would be nobody's. */
const describing = (code) => code.replace(/^( *)(.*?); (\/\*\*)/gm, '$1$2;\n$1$3')

/** Others speak of what the front door declares, and do not declare it again, whichever room they have it from. */
function throughFront(frontDoor) {
  const there = new Set(
    [...readFileSync(frontDoor, 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names]) =>
      names.split(',').map((name) => name.replace(/\btype /, '').trim()),
    ),
  )
  const nameOf = (item) =>
    item
      .replace(/\btype /, '')
      .split(' as ')[0]
      .trim()
  const rewrite =
    (importer) =>
    (whole, type = '', names, specifier) => {
      if (!resolve(dirname(importer), specifier).startsWith(`${dirname(frontDoor)}/`)) return whole
      const items = names
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean)
      const [ours, rest] = [
        items.filter((item) => there.has(nameOf(item))),
        items.filter((item) => !there.has(nameOf(item))),
      ]
      const line = (list, from) => (list.length > 0 ? `import ${type}{ ${list.join(', ')} } from '${from}';` : '')
      return line(ours, front) + line(rest, specifier)
    }
  return {
    name: 'through-front',
    transform: (code, id) =>
      id.startsWith(`${dirname(frontDoor)}/`)
        ? undefined
        : code.replace(/import (type )?\{([^}]*)\} from '(\.[^']*)';/g, rewrite(id)),
  }
}

/** The slots of the program join those that plugins declare. */
const withSlots = {
  name: 'with-slots',
  transform: (code) =>
    code.includes('export interface Slots {')
      ? `import type { BuiltinSlots } from ${JSON.stringify(join(root, 'manifests/slots.js'))}\n${code.replace('export interface Slots {', 'export interface Slots extends BuiltinSlots {')}`
      : undefined,
}
