import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { Contribution, Io, Kernel, Schema } from '../../../core/index.js'
import { inspect } from '../../../core/manifests/index.js'
import { renderComment, toPascalCase, renderType } from '../../lib/base/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { createInspectContext } from './install.js'

const HEADER = '// Made from the manifests by `vtcode plugins types`. Change those, not this.\n'

/**
 * Runs `vtcode plugins types`: writes `types.d.ts` with the types of the inputs and outputs of a plugin. Never
 * replaces other files.
 */
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
  const { root, contributions, invalid } = await inspect(place, createInspectContext({ kernel, io }))
  const wrong = invalid.find(({ state }) => state === 'invalid')
  if (wrong) {
    say(
      io,
      'error',
      `${toOneLine(relative(root, wrong.file))} is not valid: ${toOneLine(wrong.reason ?? '')} Run \`vtcode ` +
        `plugins validate ${toOneLine(path)}\` for details.`,
    )
    return 1
  }
  const file = join(root, 'types.d.ts')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (before !== undefined && !before.startsWith(HEADER)) {
    say(
      io,
      'error',
      `${toOneLine(file)} was not made by \`vtcode plugins types\`. Move or rename it; nothing was written.`,
    )
    return 1
  }
  const text = `${HEADER}\n${contributions.flatMap((one) => renderContributionTypes(one, kernel)).join('\n')}`
  if (check) {
    if (text === before) return 0
    say(io, 'error', `${toOneLine(file)} is out of date. Write it with \`vtcode plugins types ${toOneLine(path)}\`.`)
    return 1
  }
  writeFileSync(file, text)
  if (!quiet) io.stdout.write(`Written: ${toOneLine(file)}\n`)
  return 0
}

/** Renders the types of an action. An override or a fallback without schemas uses those of its slot. */
function renderContributionTypes({ kind, name, slot, stage, manifest }: Contribution, kernel: Kernel): string[] {
  if (kind !== 'action') return []
  const prefix = toPascalCase(name)
  const inherited = stage === 'primary' ? undefined : kernel.list().find((one) => one.slot === slot)
  const input = manifest.input ?? inherited?.input ?? { properties: {} }
  const output = manifest.output ?? inherited?.output
  return [
    renderTypeDeclaration(
      `${prefix}Input`,
      `The input of ${slot}. A property with a default is always present.`,
      requireDefaults(input),
      prefix,
    ),
    renderTypeDeclaration(`${prefix}Output`, `The output of ${slot}.`, output ?? { type: 'object' }, prefix),
  ]
}

function renderTypeDeclaration(name: string, about: string, schema: Schema, prefix: string): string {
  const context = { refer: (part: string) => `${prefix}${toPascalCase(part)}`, open: false, lenient: true }
  const parts = Object.entries((schema['$defs'] ?? {}) as Record<string, Schema>).map(
    ([part, of]) => `export type ${context.refer(part)} = ${renderType(of, context, '')}\n`,
  )
  return (
    `${renderComment(about, '')}export type ${name} = ` +
    `${renderType({ ...schema, type: 'object' }, context, '')}\n${parts.join('')}`
  )
}

/** Marks properties with a default as required, because a handler gets them filled in. */
function requireDefaults(schema: Schema): Schema {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const filled = Object.keys(properties).filter((name) => properties[name]!['default'] !== undefined)
  return { ...schema, required: [...new Set([...((schema['required'] ?? []) as string[]), ...filled])] }
}
