import { readFileSync } from 'node:fs'
import { programFile, type Schema, type SlotInfo } from '../../../core/index.js'
import { truncateLine, visibleLine } from '../../../core/text/index.js'
import { renderType } from '../../lib/base/index.js'
import type { FunctionPath } from './functions.js'

const LIMITS = { description: 300, input: 2000, output: 600 }

/** Properties that every slot has and no script needs. */
const COMMON = ['response_format', 'diagnostics']

/** Renders the TypeScript declaration of a function, with the first sentence about its tool. */
export function renderDeclaration(path: FunctionPath, slot: SlotInfo): string {
  const { description, input, action } = slot
  const output = slot.output ?? findOwnOutput(slot)
  const about = truncateLine(description.split('\n', 1)[0]!, LIMITS.description).replaceAll('*/', '*\\/')
  const hidden = action === undefined ? COMMON : [...COMMON, 'action']
  const shown = Object.entries((input['properties'] ?? {}) as object).filter(([name]) => !hidden.includes(name))
  const type = renderOneLine({ ...input, properties: Object.fromEntries(shown) }, LIMITS.input, 'object')
  const result = output === undefined ? 'any' : renderOneLine(output, LIMITS.output, 'any')
  return `/** ${about} */\n${path.join('.')}(input: ${type}): Promise<${result}>`
}

/** Renders a type in one line, without descriptions if it is longer than `limit`; then without its parts. */
function renderOneLine(schema: Schema, limit: number, otherwise: string): string {
  const whole = renderType(schema, { refer: () => 'unknown', open: false, lenient: true }, '')
  const commented = joinLines(whole.replace(/\/\*\*\s*/g, '/* ').replace(/\n\s*\*\s(?!\/)/g, ' '))
  if (commented.length <= limit) return commented
  const bare = joinLines(whole.replace(/\s*\/\*\*[\s\S]*?\*\//g, ''))
  return bare.length <= limit ? bare : otherwise
}

const joinLines = (type: string): string =>
  visibleLine(
    type
      .replace(/([{[(|&]|\*\/)\s*\n\s*/g, '$1 ')
      .replace(/\s*\n\s*([}\])])/g, ' $1')
      .replace(/\s*\n\s*/g, '; '),
  )

let ownOutputs: Readonly<Record<string, Schema>> | undefined
/** Returns the output schema of a slot that only this program serves; the catalogue leaves it out. */
function findOwnOutput({ slot, chain }: SlotInfo): Schema | undefined {
  if (!chain.every((id) => id.startsWith('builtin:'))) return undefined
  ownOutputs ??= JSON.parse(readFileSync(programFile('manifests/_outputs.json'), 'utf8')) as Record<string, Schema>
  return ownOutputs[slot]
}
