import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

const action = (name: string, properties: string, rest = '') =>
  `action: thing/${name}\ndescription: Does ${name}.\neffects: [read]\ninput:\n  properties:\n${properties}${rest}module: ./thing.js\n`
const files = {
  'tools/a.yaml': action(
    'one',
    '    path: { type: string, description: What to look at., maxLength: 10 }\n    depth: { $ref: "#/$defs/size" }\n',
    '  $defs: { size: { type: integer } }\n',
  ),
  'tools/b.yaml': action(
    'two',
    '    path: { type: string, description: What to write., maxLength: 20 }\n    width: { $ref: "#/$defs/size" }\n',
    '  $defs: { size: { type: number } }\n',
  ),
  'tools/c.yaml': action(
    'three',
    '    path: { type: string, description: What to write. }\n    only: { type: string, enum: [a], default: a, x-aliases: [o] }\n',
  ),
  'tools/thing.js': 'export default () => ({ ok: true, output: {} })',
}

describe('flat schema of a tool', () => {
  it('merges properties of all actions, labels each description with its actions, and inlines references', async () => {
    await using booted = await bootKernel({ files })
    const manifests = ['a', 'b', 'c'].map((name) => `${booted.root}/tools/${name}.yaml`)
    await using kernel = await bootKernel({ manifests })
    expect(kernel.kernel.describe('thing')!.input).toMatchObject({
      properties: {
        action: { enum: ['one', 'two', 'three'] },
        path: { type: 'string', description: 'one: What to look at. two, three: What to write.' },
        depth: { type: 'integer', description: 'one' },
        width: { type: 'number', description: 'two' },
        only: { type: 'string', enum: ['a'], description: 'three' },
      },
    })
    const { path, only } = kernel.kernel.describe('thing')!.input['properties'] as Record<string, object>
    expect(path).not.toHaveProperty('maxLength')
    expect(Object.keys(only!).sort()).toEqual(['description', 'enum', 'type'])
  })
})
