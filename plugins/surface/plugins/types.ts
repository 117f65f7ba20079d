import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { Contribution, Io, Kernel, Schema } from '../../../core/index.js'
import { inspect } from '../../../core/manifests/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { surroundings } from './install.js'
import { comment, pascal, typeOf } from './type_text.js'

const head = '// Made from the manifests by `vtcode plugins types`. Change those, not this.\n'

/** `vtcode plugins types`: the types of what a plugin's actions take and answer, from their schemas, as `types.d.ts` in its folder. A file of somebody else is left alone. */
export async function writeTypes(
  kernel: Kernel,
  path: string,
  io: Io,
  { check = false, quiet = false }: { check?: boolean; quiet?: boolean } = {},
): Promise<number> {
  const place = resolve(path)
  if (!existsSync(place)) {
    say(io, 'error', `'${toOneLine(path)}' does not exist.`)
    return 1
  }
  const { root, contributions, invalid } = await inspect(place, surroundings({ kernel, io }))
  const wrong = invalid.find(({ state }) => state === 'invalid')
  if (wrong) {
    say(
      io,
      'error',
      `${toOneLine(relative(root, wrong.file))} is not valid: ${toOneLine(wrong.reason ?? '')} \`vtcode plugins validate ${toOneLine(path)}\` says more.`,
    )
    return 1
  }
  const file = join(root, 'types.d.ts')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (before !== undefined && !before.startsWith(head)) {
    say(
      io,
      'error',
      `${toOneLine(file)} was not made by \`vtcode plugins types\`. Move or rename it; nothing was written.`,
    )
    return 1
  }
  const text = `${head}\n${contributions.flatMap((one) => typesOf(one, kernel)).join('\n')}`
  if (check) {
    if (text === before) return 0
    say(io, 'error', `${toOneLine(file)} is not fresh. Write it with \`vtcode plugins types ${toOneLine(path)}\`.`)
    return 1
  }
  writeFileSync(file, text)
  if (!quiet) io.stdout.write(`Written: ${toOneLine(file)}\n`)
  return 0
}

/** What an action takes and answers; of an override and a fallback that is what their slot says. */
function typesOf({ kind, name, slot, stage, manifest }: Contribution, kernel: Kernel): string[] {
  if (kind !== 'action') return []
  const prefix = pascal(name)
  const inherited = stage === 'primary' ? undefined : kernel.list().find((one) => one.slot === slot)
  const input = manifest.input ?? inherited?.input ?? { properties: {} }
  const output = manifest.output ?? inherited?.output
  return [
    typeText(
      `${prefix}Input`,
      `What a call of ${slot} gives. A property with a default is always there.`,
      withDefaults(input),
      prefix,
    ),
    typeText(`${prefix}Output`, `What ${slot} answers.`, output ?? { type: 'object' }, prefix),
  ]
}

function typeText(name: string, about: string, schema: Schema, prefix: string): string {
  const context = { refer: (part: string) => `${prefix}${pascal(part)}`, open: false, lenient: true }
  const parts = Object.entries((schema['$defs'] ?? {}) as Record<string, Schema>).map(
    ([part, of]) => `export type ${context.refer(part)} = ${typeOf(of, context, '')}\n`,
  )
  return `${comment(about, '')}export type ${name} = ${typeOf({ ...schema, type: 'object' }, context, '')}\n${parts.join('')}`
}

/** A handler gets the defaults filled in. */
function withDefaults(schema: Schema): Schema {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const filled = Object.keys(properties).filter((name) => properties[name]!['default'] !== undefined)
  return { ...schema, required: [...new Set([...((schema['required'] ?? []) as string[]), ...filled])] }
}
