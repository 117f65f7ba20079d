import { fc } from '../../support/property.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'

let booted: Booted
beforeAll(async () => void (booted = await bootKernel({ manifests: ['test/fixtures/plugins'] })))
afterAll(() => booted[Symbol.asyncDispose]())

const given = async (input: unknown): Promise<unknown> => {
  const result = await booted.call('echo', input)
  return result.ok ? result.output['given'] : result.error.code
}
const problem = async (tool: string, input?: unknown) => {
  const result = await booted.call(tool, input)
  if (result.ok) throw new Error('a failure was expected')
  return result.error
}

it('refuses a number that JSON cannot hold, at any depth, and names its field', async () => {
  for (const [input, says] of [
    [{ text: 'x', max_results: Infinity }, "'max_results' is Infinity"],
    [{ text: 'x', maxResults: NaN }, "'maxResults' is NaN"],
    [{ text: ['a', { b: -Infinity }] }, "'text.1.b' is -Infinity"],
  ] as const)
    expect(await problem('echo', input)).toMatchObject({
      code: 'VT_INPUT_INVALID',
      message: `${says}; JSON has no such number. Give a finite one.`,
    })
})

describe('normalization of an input', () => {
  it.each([
    ['keys in any case', { Text: 'x', 'Max-Results': 3 }, { text: 'x', max_results: 3 }],
    ['camel case', { text: 'x', maxResults: 3 }, { text: 'x', max_results: 3 }],
    ['an alias', { message: 'x' }, { text: 'x' }],
    ['JSON text', '{"text":"x"}', { text: 'x' }],
    ['a wrapper', { arguments: { text: 'x' } }, { text: 'x' }],
    ['a wrapper of JSON text', { args: '{"text":"x"}' }, { text: 'x' }],
    ['the name of the tool among the properties', { tool: 'echo', text: 'x' }, { text: 'x' }],
    ['null for an absent value', { text: 'x', loud: null }, { text: 'x' }],
    ['an empty text for an absent path', { text: 'x', path: '', mode: '' }, { text: 'x' }],
    ['numbers as text', { text: 'x', max_results: '7' }, { text: 'x', max_results: 7 }],
    ['booleans as text', { text: 'x', loud: 'true' }, { text: 'x', loud: true }],
    ['lists as text', { text: 'x', tags: '["a","b"]' }, { text: 'x', tags: ['a', 'b'] }],
    ['objects as text', { text: 'x', options: '{"a":1}' }, { text: 'x', options: { a: 1 } }],
    ['one item for a list', { text: 'x', tags: 'a' }, { text: 'x', tags: ['a'] }],
    ['a text where text or list is wanted', { text: 'x', either: '["a"]' }, { text: 'x', either: '["a"]' }],
    ['a number for a short text', { text: 12 }, { text: '12' }],
    ['enums in any case', { text: 'x', mode: 'Find-Name' }, { text: 'x', mode: 'find_name' }],
    ['numbered items', { text: 'x', 'tags.0': 'a', 'tags.1': 'b' }, { text: 'x', tags: ['a', 'b'] }],
    ['items numbered from 1', { text: 'x', 'tags.1': 'a', 'tags.2': 'b' }, { text: 'x', tags: ['a', 'b'] }],
    ['one value given twice', { text: 'x', words: 'x' }, { text: 'x' }],
    [
      'an absolute path inside',
      () => ({ text: 'x', path: `${booted.root}/src/../a.txt` }),
      { text: 'x', path: 'a.txt' },
    ],
    ['paths in a list', { text: 'x', paths: ['./a', 'b//c/'] }, { text: 'x', paths: ['a', 'b/c'] }],
  ])('understands %s', async (_, input, expected) => {
    expect(await given(typeof input === 'function' ? input() : input)).toEqual(expected)
  })

  it('fills in defaults for the handler and leaves them out of `given`', async () => {
    const result = await booted.call('echo', { text: 'x' })
    expect(result).toMatchObject({ ok: true, output: { input: { text: 'x', max_results: 10 }, given: { text: 'x' } } })
  })

  it('lowers a number to its maximum with a notice', async () => {
    const result = await booted.call('echo', { text: 'x', max_results: 99 })
    expect(result).toMatchObject({
      ok: true,
      output: { input: { max_results: 50 } },
      notices: [{ code: 'VT_INPUT_CAPPED', message: expect.stringMatching(/'max_results' 99.*50/) }],
    })
  })

  it.each([
    ['VT_INPUT_MISSING', {}, /'text'/],
    ['VT_INPUT_UNKNOWN', { text: 'x', max_result: 3 }, /max_result.*max_results/],
    ['VT_INPUT_UNKNOWN', JSON.parse('{"text":"x","__proto__":{"polluted":true}}'), /__proto__/],
    ['VT_INPUT_CONFLICT', { text: 'x', words: 'y' }, /'text' and 'words'/],
    ['VT_INPUT_CONFLICT', { text: 'x', a: '1', b: '2' }, /'a' and 'b'/],
    ['VT_INPUT_INVALID', { text: 'x', max_results: 0 }, /max_results.*0.*1-indexed/],
    ['VT_INPUT_INVALID', { text: 'x', max_results: 10.5 }, /max_results.*10\.5/],
    ['VT_INPUT_INVALID', { text: 'x', mode: 'wild' }, /wild.*find_name.*list/],
    ['VT_INPUT_INVALID', { text: '' }, /text/],
    ['VT_INPUT_INVALID', { text: 'x', body: 12 }, /body.*12.*string/],
    ['VT_INPUT_INVALID', { text: 'x', 'tags.0': 'a', 'tags.2': 'b' }, /tags.*gap/],
    ['VT_INPUT_INVALID', '{"text":', /JSON/],
    ['VT_INPUT_INVALID', [1], /array/],
    ['VT_INPUT_INVALID', 12, /number/],
    ['VT_INPUT_INVALID', { text: 'x', options: () => {} }, /function/],
    ['VT_PATH_OUTSIDE', { text: 'x', path: '../x' }, /\.\.\/x/],
    ['VT_PATH_OUTSIDE', { text: 'x', paths: ['a', '/etc/passwd'] }, /passwd/],
    ['VT_PATH_OUTSIDE', { text: 'x', globs: '../*.ts' }, /\.\./],
    ['VT_INPUT_INVALID', { text: 'x', path: 'a\0b' }, /./],
    ['VT_INPUT_INVALID', { text: 'x', globs: ['{a,b}'.repeat(40)] }, /1,000/],
    ['VT_INPUT_INVALID', { text: 'x', globs: '**/'.repeat(9) }, /\*\*/],
  ])('answers %s to the input %.60j', async (code, input, message) => {
    const error = await problem('echo', input)
    expect(error).toMatchObject({ code, retryable: false, message: expect.stringMatching(message) })
    expect(error.message.length).toBeLessThanOrEqual(300)
    if (code.startsWith('VT_INPUT_')) expect(error.hint).toContain('Example: echo {"text":"hello"}')
  })

  it('refuses an input over 4 MiB', async () => {
    expect(await problem('echo', { text: 'x'.repeat(5 * 1024 * 1024) })).toMatchObject({
      code: 'VT_INPUT_TOO_LARGE',
      message: expect.stringContaining('4 MiB'),
    })
  })

  it('survives input nested 10,000 deep', async () => {
    let deep: unknown = {}
    for (let i = 0; i < 10_000; i++) deep = { a: deep }
    expect(await problem('echo', deep)).toMatchObject({ code: 'VT_INPUT_INVALID' })
    expect(await given({ text: 'still here' })).toEqual({ text: 'still here' })
  })

  it('reports all mistakes of an input at once', async () => {
    const { details } = await problem('echo', { max_results: 0, loud: 'perhaps' })
    expect(details?.['issues']).toMatchObject([
      { field: 'text' },
      { field: 'max_results', got: 0 },
      { field: 'loud', got: 'perhaps' },
    ])
  })

  it('answers any JSON with a result and never pollutes a prototype', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const result = await booted.call('echo', value)
        expect(typeof result.ok).toBe('boolean')
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
      }),
    )
  })
})

describe('choice of an action', () => {
  it.each([
    ['the name', { action: 'shout', text: 'a' }, 'talk/shout'],
    ['a synonym', { Action: 'YELL', text: 'a' }, 'talk/shout'],
    ['a deciding property', { text: 'a', volume: 3 }, 'talk/shout'],
    ['a deciding property of the other action', { text: 'a', secret: true }, 'talk/whisper'],
    ['the weaker rule when no property decides', { words: 'a' }, 'talk/shout'],
    ['the form of a value', { text: '(a)' }, 'talk/whisper'],
  ])('chooses the action by %s', async (_, input, slot) => {
    const seen = (await booted.call('talk', input)) as unknown as { output: { given: Record<string, unknown> } }
    const whispered = 'mode' in seen.output.given || 'secret' in seen.output.given
    expect(whispered ? 'talk/whisper' : 'talk/shout').toBe(slot)
  })

  it('fills in the fields that the choice of an action implies', async () => {
    expect(await booted.call('talk', { text: '(a)' })).toMatchObject({ output: { given: { mode: 'softer' } } })
  })

  it.each([
    ['VT_ACTION_MISSING', {}, /shout.*whisper/],
    ['VT_ACTION_MISSING', { text: 'a', volume: 1, secret: true }, /shout.*whisper/],
    ['VT_ACTION_UNKNOWN', { action: 'sing', text: 'a' }, /sing.*shout.*whisper/],
    ['VT_INPUT_NOT_ALLOWED', { action: 'shout', text: 'a', secret: true }, /secret.*talk\/whisper/],
  ])('answers %s to %j when no action can be chosen', async (code, input, message) => {
    expect(await problem('talk', input)).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('runs the successor of a retired action without the fields that it does not know', async () => {
    expect(await booted.call('talk', { action: 'scream', text: 'a', pitch: 3 })).toMatchObject({
      ok: true,
      output: { given: { text: 'a' } },
      notices: [
        {
          code: 'VT_ACTION_DEPRECATED',
          message: "The action 'scream' of talk was removed; talk/shout ran instead. Ignored: 'pitch'.",
        },
      ],
    })
  })
})

describe('name of a tool', () => {
  it.each(['echo', ' echo ', '"echo"', 'functions.echo', 'mcp__vtcode__echo', 'ECHO', 'Echo'])(
    'understands the tool name %j',
    async (name) => {
      expect(await booted.call(name, { text: 'x' })).toMatchObject({ ok: true })
    },
  )

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'ecko', 'talk/sing'])(
    'rejects the tool name %j and names the three nearest',
    async (name) => {
      const error = await problem(name, { text: 'x' })
      expect(error).toMatchObject({
        code: 'VT_TOOL_UNKNOWN',
        message: expect.stringMatching(/; nearest: [\w/]+, [\w/]+, [\w/]+\.$/),
      })
      if (name === 'ecko') expect(error.message).toContain('nearest: echo')
    },
  )
})
