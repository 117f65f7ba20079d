import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'

/** Manifest and module of one action in a folder of its own, which the kernel is then given. */
async function folderWith(files: Record<string, string>) {
  const folder = await tempWorkspace(files)
  return { folder: folder.root, drop: () => folder[Symbol.asyncDispose](), write: folder.write }
}

const action = (name: string, more = '') =>
  `name: ${name}\ndescription: A test.\neffects: []\nmodule: ./${name}.js\n${more}`

describe('kernel.call', () => {
  let plugins: Awaited<ReturnType<typeof folderWith>>
  let booted: Booted
  beforeAll(async () => {
    plugins = await folderWith({
      'wait.yaml': action(
        'wait',
        'timeout_secs: 1\nconcurrency: 2\ninput: { properties: { ms: { type: integer }, deaf: { type: boolean } } }',
      ),
      'wait.js': `import { ok } from 'vtcode'
        let now = 0, most = 0
        export default async ({ input }, { signal, progress }) => {
          most = Math.max(most, ++now)
          for (let i = 0; i < 50; i++) progress({ done: i })
          let aborted = signal.aborted
          if (!input.deaf) signal.addEventListener('abort', () => (aborted = true))
          await new Promise((r) => setTimeout(r, input.ms ?? 5))
          now--
          return ok({ most, aborted })
        }`,
      'nest.yaml': action('nest', 'input: { properties: { left: { type: integer } } }'),
      'nest.js': `import { ok } from 'vtcode'
        export default async ({ input, caller }, { call }) => input.left ? await call('nest', { left: input.left - 1 }) : ok({ depth: caller.depth })`,
      'tally.yaml': action('tally'),
      'tally.js': `import { ok } from 'vtcode'
        export default (call, { session }) => {
          const seen = session.state('tally', () => ({ count: 0 }))
          if (seen.count === 0) session.onClose(() => { globalThis.closedSessions = (globalThis.closedSessions ?? 0) + 1 })
          return ok({ count: ++seen.count })
        }`,
      'frozen.yaml': action('frozen', 'input: { properties: { list: { type: array } } }'),
      'frozen.js': `import { ok } from 'vtcode'
        export default (call) => {
          const attempts = [() => { call.input.x = 1 }, () => { call.slot = 'y' }, () => { call.input.list.push(1) }, () => { call.input.list[0].deep = 1 }]
          return ok({ held: attempts.map((attempt) => { try { attempt(); return false } catch { return true } }) })
        }`,
    })
    booted = await bootKernel({ manifests: [plugins.folder] })
  })
  afterAll(async () => {
    await booted[Symbol.asyncDispose]()
    await plugins.drop()
  })

  it('aborts a call at once when its caller cancels', async () => {
    const controller = new AbortController()
    const result = booted.call('wait', { ms: 900 }, { signal: controller.signal })
    await pause(20)
    controller.abort()
    expect(await result).toMatchObject({ ok: false, error: { code: 'VT_CALL_ABORTED', retryable: false } })
  })

  it('refuses to begin a call that was aborted before', async () => {
    expect(await booted.call('wait', {}, { signal: AbortSignal.abort() })).toMatchObject({
      ok: false,
      error: { code: 'VT_CALL_ABORTED' },
    })
  })

  it('ends a call at its time limit although the handler continues', async () => {
    expect(await booted.call('wait', { ms: 1500, deaf: true })).toMatchObject({
      ok: false,
      error: { code: 'VT_CALL_TIMEOUT', retryable: true, message: expect.stringContaining('1 s') },
    })
  })

  it('queues a call when as many run as the manifest allows', async () => {
    await pause(600)
    const results = await Promise.all(Array.from({ length: 8 }, () => booted.call('wait', { ms: 10 })))
    expect(Math.max(...results.map((result) => (result.ok ? Number(result.output['most']) : 99)))).toBeLessThanOrEqual(
      3,
    )
  })

  it('limits progress reports to ten at once, then ten a second, and none after the end', async () => {
    const updates: unknown[] = []
    await booted.call('wait', { ms: 20 }, { onProgress: (update) => updates.push(update) })
    expect(updates).toEqual(Array.from({ length: 10 }, (_, done) => ({ done })))
  })

  it('allows calls nested four deep and refuses deeper ones', async () => {
    expect(await booted.call('nest', { left: 4 })).toMatchObject({ ok: true, output: { depth: 4 } })
    expect(await booted.call('nest', { left: 5 })).toMatchObject({ ok: false, error: { code: 'VT_CALL_DEPTH' } })
  })

  it('shares state only among the calls of one session', async () => {
    for (const count of [1, 2])
      expect(await booted.call('tally', {}, { session: 'a' })).toMatchObject({ output: { count } })
    expect(await booted.call('tally', {}, { session: 'b' })).toMatchObject({ output: { count: 1 } })
    await booted.kernel.endSession('a')
    expect((globalThis as Record<string, unknown>)['closedSessions']).toBe(1)
    expect(await booted.call('tally', {}, { session: 'a' })).toMatchObject({ output: { count: 1 } })
  })

  it('freezes every part of a call', async () => {
    expect(await booted.call('frozen', { list: [{ deep: 0 }] })).toMatchObject({
      output: { held: [true, true, true, true] },
    })
  })

  it('resolves to a result for any tool name and any input', async () => {
    for (const [tool, input] of [
      [undefined, undefined],
      [{}, null],
      [Symbol.iterator, []],
      ['wait', new Map()],
      ['wait', { ms: 1n }],
    ] as const) {
      expect((await booted.kernel.call(tool as never, input)).ok).toBe(false)
    }
  })
})

describe('kernel.reload', () => {
  it('finishes running calls on the old generation and gives later calls the new module', async () => {
    const module = (word: string) =>
      `export default async () => { await new Promise((r) => setTimeout(r, 100)); return { ok: true, output: { word: '${word}' } } }`
    const plugins = await folderWith({ 'word.yaml': action('word'), 'word.js': module('old') })
    await using booted = await bootKernel({ manifests: [plugins.folder] })
    await booted.call('word')
    const inFlight = booted.call('word')
    let told = 0
    booted.kernel.inspection.onReload(() => told++)
    await plugins.write('word.js', module('new and longer'))
    expect(await booted.kernel.reload()).toMatchObject({ ok: true, generation: 2 })
    expect(told).toBe(1)
    expect(await inFlight).toMatchObject({ output: { word: 'old' } })
    expect(await booted.call('word')).toMatchObject({ output: { word: 'new and longer' } })
    await plugins.drop()
  })

  it('refuses a reload that can no longer load a policy of the user, and keeps the old generation', async () => {
    const plugins = await folderWith({
      'never.yaml': 'name: never\nkind: policy\nmodule: ./never.js\n',
      'never.js': `export default () => ({ deny: 'Never.' })`,
    })
    await using booted = await bootKernel({ manifests: [plugins.folder, 'test/fixtures/plugins'] })
    await plugins.write('never.yaml', 'name: never\nkind: policy\nmodul: ./never.js\n')
    expect(await booted.kernel.reload()).toMatchObject({
      ok: false,
      generation: 1,
      diagnostics: [{ code: 'VT_RELOAD_REFUSED', message: expect.stringContaining('never') }],
    })
    expect(await booted.call('echo', { text: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: 'Never.', details: { not_applied: true } },
    })
    await plugins.drop()
  })
})

describe('alias', () => {
  it('renames, sets, defaults and chooses fields by value, and runs the pipeline once on the target', async () => {
    const plugins = await folderWith({
      'say.yaml': `name: say
input: { required: [what], properties: { what: { type: string }, how: { enum: [short, long] }, list: { type: boolean } } }
alias:
  to: echo
  rename: { what: text }
  default: { max_results: 7 }
  cases:
    how: { long: { set: { body: LONG } }, $absent: { set: { body: NONE } } }
    list: { $present: { set: { mode: list } } }
`,
      'same.yaml': 'name: same\nalias: { to: echo, rename: { t: text } }\n',
      'nowhere.yaml': 'name: nowhere\nalias: { to: no_such_slot }\n',
    })
    await using booted = await bootKernel({ manifests: ['test/fixtures/plugins', plugins.folder] })
    const given = async (tool: string, input: object) => {
      const result = await booted.call(tool, input)
      return result.ok ? result.output['given'] : result.error
    }
    expect(await given('say', { what: 'x', how: 'long' })).toEqual({ text: 'x', max_results: 7, body: 'LONG' })
    expect(await given('say', { what: 'x', list: true })).toEqual({
      text: 'x',
      max_results: 7,
      body: 'NONE',
      mode: 'list',
    })
    expect(await given('same', { t: 'x', loud: 'true' })).toEqual({ text: 'x', loud: true })
    expect(await given('say', {})).toMatchObject({ code: 'VT_INPUT_MISSING', message: expect.stringContaining('what') })
    expect(await booted.call('say', { what: 'x' })).toMatchObject({ output: { caller: { alias: 'say', depth: 0 } } })
    expect(booted.kernel.diagnostics().map(({ code }) => code)).toContain('VT_SLOT_UNKNOWN')
    expect(await booted.call('nowhere', {})).toMatchObject({ ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
    await plugins.drop()
  })

  it("reads the defaults of an alias in the alias's own names, also to choose a case", async () => {
    const plugins = await folderWith({
      'say.yaml': `name: say
input: { properties: { what: { type: string }, how: { enum: [short, long] } } }
alias:
  to: echo
  rename: { what: text }
  default: { what: silence, how: long, max_results: 7 }
  cases:
    how: { long: { set: { body: LONG } }, $absent: { set: { body: NONE } } }
`,
    })
    await using booted = await bootKernel({ manifests: ['test/fixtures/plugins', plugins.folder] })
    const given = async (input: object) => {
      const result = await booted.call('say', input)
      return result.ok ? result.output['given'] : result.error
    }
    expect(await given({})).toEqual({ text: 'silence', max_results: 7, body: 'LONG' })
    expect(await given({ what: 'x', how: 'short' })).toEqual({ text: 'x', max_results: 7 })
    await plugins.drop()
  })
})

describe('answer of an alias', () => {
  const template = `name: words
input: { required: [say], properties: { say: { type: string }, kind: { enum: [list, table] } } }
example: "words(say='hello')"
alias:
  to: source
  rename: { say: text }
  output:
    title: $.title
    by: $input.say
    kind: short
    gone: $.nowhere
    names: { each: $.items, item: $.name, limit: 2 }
    big: { each: $.items, where: $.big, item: { is: $.name, of: $out.title } }
    note: { text: "{title:line:5} of {{{items.length}}}" }
    state: { if: $.items, then: some, else: none }
    $text: { each: $.items, line: "{name}={big}", empty: Nothing, tail: { if: $.title, then: { text: "-- {title:line}" } } }
  cases:
    kind: { list: { output: { kind: listed } } }
`
  const files = {
    'source.yaml': `name: source\ndescription: A test.\neffects: []\ninput: { required: [text, kind], properties: { text: { type: string }, kind: { type: string, default: x }, max: { type: integer, minimum: 1 } } }\nmodule: ./source.js\n`,
    'source.js': `import { ok, fail } from 'vtcode'
      export default ({ input }) => input.text === 'fail' ? fail('VT_PATH_NOT_FOUND', "'text' is wrong.") :
        ok({ title: 'A long title\\nsecond line', items: input.text === 'none' ? [] : [{ name: 'a', big: true }, { name: '{title}', big: false }, { name: 'c', big: true }] }, { text: 'plain' })`,
    'words.yaml': template,
    'table.yaml': 'name: table\nalias: { to: source, rename: { say: text }, module: ./table.js }\n',
    'table.js': `export default (result, input) => ({ ...result, output: { rows: result.output.items.length, say: input.say }, text: 'T' })`,
  }
  let booted: Booted
  let plugins: Awaited<ReturnType<typeof folderWith>>
  beforeAll(async () => {
    plugins = await folderWith(files)
    booted = await bootKernel({ manifests: [plugins.folder] })
  })
  afterAll(async () => {
    await booted[Symbol.asyncDispose]()
    await plugins.drop()
  })

  it("fills the answer of an alias from the target's answer in one pass", async () => {
    expect(await booted.call('words', { say: 'hello' })).toEqual({
      ok: true,
      output: {
        title: 'A long title\nsecond line',
        by: 'hello',
        kind: 'short',
        names: ['a', '{title}'],
        big: [
          { is: 'a', of: 'A long title\nsecond line' },
          { is: 'c', of: 'A long title\nsecond line' },
        ],
        note: 'A lon… of {3}',
        state: 'some',
      },
      text: 'a=true\n{title}=false\nc=true\n-- A long title',
    })
    expect(await booted.call('words', { say: 'none', kind: 'list' })).toMatchObject({
      output: { state: 'none', kind: 'listed', names: [] },
      text: 'Nothing',
    })
  })

  it('lets a module make the answer of an alias', async () => {
    expect(await booted.call('table', { say: 'x' })).toEqual({ ok: true, output: { rows: 3, say: 'x' }, text: 'T' })
  })

  it("names the fields of a failure in the alias's words, and shows calls in its own syntax", async () => {
    expect(await booted.call('words', { say: 'fail' })).toMatchObject({
      ok: false,
      error: { message: "'say' is wrong." },
    })
    expect(await booted.call('words', {})).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_MISSING', message: "Missing 'say'.", hint: "Example: words(say='hello')" },
    })
  })
})

describe('binding of handlers', () => {
  const serve = (word: string) => `export default () => ({ ok: true, output: { by: '${word}' } })`
  const files = {
    'job.yaml': action('job').replace('./job.js', './primary.js'),
    'primary.js': serve('primary'),
    'first.yaml': 'name: a_first\naction: job\nstage: override\nmodule: ./first.js\n',
    'first.js': `export default ({ caller }) => undefined`,
    'second.yaml': 'name: b_second\naction: job\nstage: override\nmodule: ./second.js\n',
    'second.js': serve('second'),
    'last.yaml': 'name: last\naction: job\nstage: fallback\nmodule: ./last.js\n',
    'last.js': serve('fallback'),
    'twice.yaml': action('job').replace('name: job', 'name: twice\naction: job').replace('./job.js', './primary.js'),
    'twin.yaml': action('JOB').replace('name: JOB', 'name: twin\naction: jo_b').replace('./JOB.js', './primary.js'),
    'wordy.yaml': 'name: wordy\naction: job\nstage: override\ndescription: Mine.\nmodule: ./second.js\n',
    'lost.yaml': 'name: lost\naction: jab\nstage: fallback\nmodule: ./last.js\n',
    'mute.yaml': 'name: mute\neffects: []\nmodule: ./last.js\n',
  }
  const by = async (use: Record<string, string | string[] | false>) => {
    const plugins = await folderWith(files)
    await using booted = await bootKernel({ manifests: [plugins.folder], config: { use } })
    const result = await booted.call('job')
    const states = Object.fromEntries(
      booted.kernel.inspection.contributions().map(({ id, state }) => [id.split(':')[1], state]),
    )
    const codes = booted.kernel.diagnostics().map(({ code }) => code)
    await plugins.drop()
    return { by: result.ok ? result.output['by'] : result.error.code, states, codes }
  }

  it('asks overrides by name, then the primary, then fallbacks, until one does not decline', async () => {
    const { by: served, states, codes } = await by({})
    expect(served).toBe('second')
    expect(states).toMatchObject({
      job: 'active',
      a_first: 'active',
      twice: 'shadowed',
      twin: 'invalid',
      wordy: 'invalid',
      lost: 'inactive',
      mute: 'invalid',
    })
    for (const code of [
      'VT_SLOT_COLLISION',
      'VT_SLOT_TWIN',
      'VT_SLOT_CONTRACT',
      'VT_SLOT_UNKNOWN',
      'VT_MANIFEST_INVALID',
    ])
      expect(codes).toContain(code)
  })

  it.each([
    ['a name alone', 'last', 'fallback'],
    ['a chain', ['a_first', 'job'], 'primary'],
    ['only one that declines', 'a_first', 'VT_ACTION_DECLINED'],
    ['nothing', false, 'VT_TOOL_UNKNOWN'],
    ['a name that is not there', 'gone', 'VT_SLOT_UNBOUND'],
  ])('follows `use` with %s', async (_, bound, expected) => {
    expect((await by({ job: bound as string })).by).toBe(expected)
  })
})
