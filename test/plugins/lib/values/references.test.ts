import { describe, expect, it } from 'vitest'
import { expandVariables, parseReference, resolvePointer } from '../../../../build/plugins/lib/values/index.js'
import { fc } from '../../../support/property.js'

const refused = new Error('refused')
const parse = (source: string) => parseReference(source, () => refused)
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,5}(\.[a-z]{1,3})?$/)

describe('JSON pointer', () => {
  it('leads to every part of a document, and to nothing for a missing one', () => {
    const escaped = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')
    const parts = (value: unknown, pointer = ''): [string, unknown][] => [
      [pointer, value],
      ...(typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([step, inner]) => parts(inner, `${pointer}/${escaped(step)}`))
        : []),
    ]
    const key = fc.constantFrom('a', '', '~', '/', '~1', '0', 'a/b')
    const document = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(0, 'text', null, true),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(key, tie('node'), { maxKeys: 4 }),
      ),
    })).node
    fc.assert(
      fc.property(document, (value) => {
        for (const [pointer, part] of parts(value)) {
          expect(resolvePointer(value, pointer)).toBe(part)
          expect(resolvePointer(value, `${pointer}/missing`)).toBeNull()
        }
      }),
    )
    expect(['/constructor', '/length', '/__proto__'].map((pointer) => resolvePointer({}, pointer))).toEqual([
      null,
      null,
      null,
    ])
  })
})

describe('text references', () => {
  it('finds references and leaves the text between them unchanged', () => {
    type Piece = ReturnType<typeof parse>[number]
    const piece: fc.Arbitrary<Piece> = fc.oneof(
      fc
        .string({ unit: fc.constantFrom('a', '{', '}', '$', '.', ' '), minLength: 1 })
        .map((text) => ({ kind: 'literal' as const, text })),
      name.map((path) => ({ kind: 'value' as const, path })),
      name.map((path) => ({ kind: 'spread' as const, path })),
      fc.constantFrom('workspace', 'plugin_root', 'option.a-b').map((name) => ({ kind: 'special' as const, name })),
    )
    const written = (piece: Piece) =>
      piece.kind === 'literal'
        ? piece.text.replace(/[{}]/g, '$&$&')
        : piece.kind === 'special'
          ? `{$${piece.name}}`
          : `{${piece.path}${piece.kind === 'spread' ? '...' : ''}}`
    // A dollar before a reference belongs to the text; two texts in a row are one.
    const list = fc
      .array(piece, { maxLength: 6 })
      .map((all) => all.filter(({ kind }, index) => kind !== 'literal' || all[index - 1]?.kind !== 'literal'))
    fc.assert(
      fc.property(list, (pieces) => {
        expect(parse(pieces.map(written).join(''))).toEqual(pieces)
      }),
    )
  })
  it('rejects malformed references and throws no other error', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '{', '}', '$', '.', '-', ' ') }), (source) => {
        try {
          parse(source)
        } catch (error) {
          expect(error).toBe(refused)
          expect(source).toMatch(/[{}]/)
        }
      }),
    )
    for (const wrong of ['{', '}', '{}', '{a b}', '{$nothing}', '{$workspace...}', '{.a}'])
      expect(() => parse(wrong)).toThrow(refused)
  })
})

describe('text variables', () => {
  const asking = (layer: 'user' | 'workspace', settings: object = {}) =>
    ({
      field: 'f',
      contribution: { id: 'x', layer, file: '/x', plugin: 'x', manifest: {} },
      adapterContext: { env: { A: '${B}$$', B: 'b' }, settings, workspace: '/' },
    }) as unknown as Parameters<typeof expandVariables>[1]

  it('inserts values once and never reads them again', () => {
    expect(expandVariables('$${A} ${A} $A ${C:-${B}} ${C:-}', asking('user'))).toBe('${A} ${B}$$ $A ${B} ')
    expect(() => expandVariables('${C}', asking('user'))).toThrow('names the variable C, which is not set')
  })
  it('hides user variables from workspace files unless the user lists them', () => {
    expect(() => expandVariables('${B}', asking('workspace'))).toThrow('trust.workspace_env')
    expect(expandVariables('${B:-none}', asking('workspace'))).toBe('none')
    expect(expandVariables('${B}', asking('workspace', { trust: { workspace_env: ['B'] } }))).toBe('b')
  })
})
