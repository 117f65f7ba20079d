import { afterEach, describe, expect, it } from 'vitest'
import { call, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'
import { bin, typing } from '../../support/terminal.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

async function at(script: Answer[] = [], files: Record<string, string> = {}): Promise<Home> {
  const peer = await startPeer(script)
  const place = await home(peer, { 'a.txt': 'hello\n', 'src/b.ts': 'const greet = 1\n', ...files })
  held.push(peer, place)
  return place
}
/** Returns the output of the verb at a terminal and its exit code. */
async function shown(place: Home, words: string[]): Promise<{ code: number | null; text: string }> {
  const { code, out } = await vtcode(place, words, { terminal: true, env: { NO_COLOR: '1' } })
  return { code, text: out }
}
/** Runs the verb as a process at a real terminal. */
async function shownByProcess(place: Home, words: string[]): Promise<{ code: number; text: string }> {
  // The terminal is read for only 200 ms after its program ends: a shell keeps it open until all output was seen.
  const { terminal, until, end } = await typing(
    place,
    ['-c', '"$0" "$@"; code=$?; printf "<end>"; read -r _; exit $code', process.execPath, bin, ...words],
    { program: 'sh', env: { NO_COLOR: '1' } },
  )
  const text = await until('<end>')
  terminal.write('\r')
  return { code: (await end()).code, text: text.replaceAll('\r', '').replace(/<end>$/, '') }
}
const piped = async (place: Home, words: string[]): Promise<string> => (await vtcode(place, words)).out

describe('output at a terminal', () => {
  it.each<[string[], RegExp]>([
    [['call', 'unified_file', 'read', '--path', 'a.txt'], /^(?!\{)[\s\S]*hello\n$/],
    [['call', 'unified_search', 'grep', '--pattern', 'greet', '--path', 'src'], /^src\/b\.ts\n1:const greet = 1$/m],
    [['call', 'unified_search', 'agent'], /^(?!\{"ok")/],
    [['tools', 'apply_patch', 'list_skills'], /^apply_patch\n {2}/m],
    [['tools', 'unified_file/read'], /^vtcode call unified_file read/m],
    [['skills'], /^name +qualified/m],
    [['skills', 'show', 'ast-grep'], /^name +ast-grep$/m],
    [['sessions'], /^There are no sessions\.$/m],
    [['models'], /^peer\/m +\S+/m],
    [['models', 'describe', 'peer/m'], /^id +peer\/m/m],
  ])('prints text for %j, and one JSON document into a pipe or with --json', async (words, text) => {
    const place = await at()
    const person = await shown(place, words)
    expect([person.code, person.text]).toEqual([0, expect.stringMatching(text)])
    expect(() => JSON.parse(person.text)).toThrow()
    const flag = (name: string) => (words[0] === 'call' ? [words[0], name, ...words.slice(1)] : [...words, name])
    const document = await piped(place, words)
    expect(document.trim().split('\n')).toHaveLength(1)
    const same = (one: string): unknown =>
      JSON.parse(one.replace(/"(duration_ms|at|time|mtime_ms)":\s*[\d.]+/g, '"$1":0'))
    expect(same((await shown(place, flag('--json'))).text)).toEqual(same(document))
    expect(await piped(place, flag('--text'))).toMatch(text)
  })

  it('prints text at a real terminal too, and one JSON document with --json', async () => {
    const place = await at()
    const words = ['unified_file', 'read', '--path', 'a.txt']
    expect(await shownByProcess(place, ['call', ...words])).toEqual({
      code: 0,
      text: expect.stringMatching(/^(?!\{)[\s\S]*hello\n$/),
    })
    const { code, text } = await shownByProcess(place, ['call', '--json', ...words])
    expect([code, JSON.parse(text)]).toEqual([0, expect.objectContaining({ ok: true })])
  })

  it('reports a failed call with its error and a next command that works', async () => {
    const place = await at()
    const { code, text } = await shown(place, ['call', 'unified_file', 'read', '--path', 'a.tx'])
    expect([code, text]).toEqual([
      1,
      expect.stringMatching(/^vtcode: error: VT_PATH_NOT_FOUND: 'a\.tx' does not exist[\s\S]*\n {2}\S/),
    ])
    expect(text).not.toMatch(/[{}]/)
    const denied = await shown(place, [
      'call',
      '--mode',
      'plan',
      'unified_exec',
      'run',
      '--command',
      'cat a.txt > b.txt',
    ])
    const next = /Next: vtcode (call .*)$/m.exec(denied.text)?.[1]
    expect(next).toBe('call unified_file read --path a.txt')
  })

  it('shows control characters of a file escaped', async () => {
    const place = await at([], { 'evil.txt': 'a\u001b]0;title\u0007b\u202e\n' })
    const { text } = await shown(place, ['call', 'unified_file', 'read', '--path', 'evil.txt'])
    expect(text).not.toMatch(/[\u001b\u0007\u202e]/)
    expect(text).toContain('\\u{1b}]0;title')
  })
})

describe('vtcode sessions', () => {
  const denied = call('unified_file', { action: 'write', path: 'x.txt', content: 'x', mode: 'fail_if_exists' })
  it('describes how and when each run ended, in words', async () => {
    const place = await at([
      { content: 'a' },
      { toolCalls: [denied] },
      { content: 'Not done.' },
      { content: 'Not done.' },
    ])
    expect((await vtcode(place, ['exec', 'say a'])).code).toBe(0)
    expect((await vtcode(place, ['exec', '--mode', 'plan', 'write x'])).code).toBe(1)
    const { text } = await shown(place, ['sessions'])
    expect(text).toMatch(/^ses_\w+ {2}(?:just now|\d+ min ago) {2}escalated {2}1 turn {2}write x$/m)
    expect(text).toMatch(/^ses_\w+ {2}(?:just now|\d+ min ago) {2}completed {2}1 turn {2}say a$/m)
    const [last, first] = JSON.parse(await piped(place, ['sessions'])) as {
      session_id: string
      status: string
      outcome: string
    }[]
    expect([last!.status, last!.outcome, first!.status, first!.outcome]).toEqual([
      'idle',
      'escalated',
      'completed',
      'success',
    ])
    expect((await shown(place, ['sessions', 'show', last!.session_id])).text).toMatch(/^status +escalated$/m)
  })

  it('reports a failed run as failed', async () => {
    const place = await at([{ status: 401, body: '{}' } as unknown as Answer])
    expect((await vtcode(place, ['exec', 'go'])).code).not.toBe(0)
    expect(JSON.parse(await piped(place, ['sessions']))).toMatchObject([{ status: 'idle', outcome: 'failed' }])
  })
})

describe('vtcode exec', () => {
  it('counts the requests that were made, not the turn that they belong to', async () => {
    const list = (path: string): Answer => ({ toolCalls: [call('unified_search', { action: 'list', path })] })
    const place = await at([
      list('.'),
      list('src'),
      { toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] },
      { content: 'Done.' },
    ])
    expect((await vtcode(place, ['exec', 'look'])).err).toMatch(/^success: 4 requests, \d+ tokens in/m)
  })
})
