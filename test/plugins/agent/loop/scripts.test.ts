import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../../../support/inside.js'
import { call, home, startPeer, vtcode } from '../../../support/peer.js'

const script = (code: string): object => call('unified_exec', { action: 'code', code, timeout_secs: 600 })
const lastText = (peer: { bodies: any[] }): string => peer.bodies.at(-1).messages.at(-1).content

describe('scripts of an agent', () => {
  it('shows the results of a killed script on resume, and does not run it again', async () => {
    const code = `await file.write({ path: 'one.txt', content: '1' })
await file.read({ path: 'none.txt' }).catch(() => {})
await file.write({ path: 'log.txt', content: 'ran\\n', mode: 'append' })
await new Promise((resolve) => setTimeout(resolve, 600_000))`
    const peer = hold(await startPeer([{ toolCalls: [script(code) as never] }, { content: 'fine' }]))
    const place = hold(await home(peer))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'go'], {
      started: (child) => {
        const log = join(place.root, 'log.txt')
        // The journal has the call a moment after the file.
        const look = setInterval(() => {
          if (!existsSync(log)) return
          clearInterval(look)
          setTimeout(() => child.kill('SIGKILL'), 500)
        }, 20)
      },
    })
    expect((await vtcode(place, ['resume', '--last', '--continue-turn', '--mode', 'auto'])).out).toBe('fine\n')
    const text = lastText(peer)
    expect(text).toMatch(/^ERROR VT_CALL_INTERRUPTED/)
    expect(text).toContain('this script ran; it does not run again. 3 of its calls had ended.')
    expect(text).toMatch(/- unified_file\/write \{.*"path":"one\.txt".*\}: /)
    expect(text).toMatch(/- unified_file\/read \{.*"path":"none\.txt".*\}: failed, VT_PATH_NOT_FOUND/)
    expect(await place.read('log.txt')).toBe('ran\n')
  })

  it('runs no script again that was killed while one of its calls waited for an answer', async () => {
    const code = `await file.write({ path: 'log.txt', content: 'ran\\n', mode: 'append' })
await exec.run({ command: 'echo second >> log.txt' })`
    const peer = hold(await startPeer([{ toolCalls: [script(code) as never] }, { content: 'fine' }]))
    const agent = { model: 'peer/m', harness: { async_approval: { enabled: true } } }
    const settings = { agent, sandbox: { mode: 'off' }, policy: { allow: ['Edit'] } }
    const place = hold(await home(peer, {}, { settings }))
    const questions = async (): Promise<{ token: string }[]> =>
      JSON.parse((await vtcode(place, ['approvals', 'list', '--json'])).out)
    let kill: (() => void) | undefined
    const run = vtcode(place, ['exec', '--quiet', '--mode', 'ask', 'go'], {
      started: (child) => (kill = () => void child.kill('SIGKILL')),
    })
    await expect.poll(questions, { timeout: 30_000, interval: 200 }).toHaveLength(1)
    kill!()
    await run
    const [question] = await questions()
    await vtcode(place, ['approvals', 'approve', question!.token])
    expect((await vtcode(place, ['resume', '--last', '--continue-turn', '--mode', 'ask'])).out).toBe('fine\n')
    expect(lastText(peer)).toContain('this script ran; it does not run again. 1 of its calls had ended.')
    expect(await place.read('log.txt')).toBe('ran\n')
    expect(await questions()).toEqual([])
  })

  it('keeps no secret in the store', async () => {
    const value = "{ line: '-----BEGIN PRIVATE KEY-----', b: 1 }"
    const code = `const why = await store.set('k', ${value}).catch((error) => error.message); return [why, await store.get('k') ?? null]`
    const peer = hold(await startPeer([{ toolCalls: [script(code) as never] }, { content: 'fine' }]))
    const place = hold(await home(peer))
    expect((await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'go'])).out).toBe('fine\n')
    expect(lastText(peer)).toContain('["VT_EXEC_STORE: The store keeps no secrets.",null]')
  })

  it('keeps the store of scripts across resume and fork, each branch with its own values', async () => {
    const list =
      "return (await Promise.all((await store.list()).map(async (key) => key + '=' + (await store.get(key))))).join()"
    const peer = hold(
      await startPeer([
        { toolCalls: [script("await store.set('a', 1); return 'kept'") as never] },
        { content: 'one' },
        { toolCalls: [script(`await store.set('b', 2); ${list}`) as never] },
        { content: 'two' },
        { toolCalls: [script(list) as never] },
        { content: 'three' },
      ]),
    )
    const place = hold(await home(peer))
    const run = (...words: string[]) => vtcode(place, [...words, '--mode', 'auto'])
    expect((await run('exec', '--quiet', 'go')).out).toBe('one\n')
    const [parent] = readdirSync(join(place.root, '.vtcode/sessions')).filter((name) => name.startsWith('ses_'))
    expect((await run('resume', '--last', '--fork', 'on a branch')).out).toContain('two')
    expect(lastText(peer)).toContain('[result] a=1,b=2')
    expect((await run('resume', parent!, 'again')).out).toContain('three')
    expect(lastText(peer)).toContain('[result] a=1\n')
  })

  it('suggests one script after three like calls in a row, once a conversation', async () => {
    const grep = (pattern: string) => ({ toolCalls: [call('unified_search', { action: 'grep', pattern }) as never] })
    const replies = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(grep)
    const peer = hold(await startPeer([...replies, { content: 'done' }, ...replies, { content: 'done' }]))
    const place = hold(await home(peer, { 'a.txt': 'abc' }))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'go'])
    const results = peer.bodies
      .at(-1)
      .messages.filter(({ role }: any) => role === 'tool')
      .map(({ content }: any) => content)
    expect(results.map((text: string) => text.includes('[script]'))).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
      false,
    ])
    const script = /^\[script\] unified_exec code can make these 3 calls at once, and more: (.*)$/m.exec(
      results[2],
    )![1]!
    const made = await vtcode(place, [
      'call',
      'unified_exec',
      'code',
      '--code',
      `const all = await (async () => { ${script} })(); return all.length`,
    ])
    expect(JSON.parse(made.out)).toMatchObject({ output: { result: 3, call_count: 3 } })
  })

  it('omits scripts from lists and suggestions for a model without code mode', async () => {
    const grep = (pattern: string) => ({ toolCalls: [call('unified_search', { action: 'grep', pattern }) as never] })
    const peer = hold(await startPeer([...['a', 'b', 'c'].map(grep), { content: 'done' }]))
    const provider = { profiles: { m: { supports_code_mode: false } } }
    const place = hold(await home(peer, {}, { provider } as never))
    await vtcode(place, ['exec', '--quiet', '--mode', 'auto', 'go'])
    expect(peer.bodies.length).toBe(4)
    expect(JSON.stringify(peer.bodies)).not.toMatch(/\[script\]|code\(code\)|"code"/)
  })
})
