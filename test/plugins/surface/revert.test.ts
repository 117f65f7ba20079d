import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { call, home, markIn, startPeer, vtcode, type Answer, type Home, type Peer } from '../../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
const exec = (command: string): Answer => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
const file = (input: object): Answer => ({ toolCalls: [call('unified_file', input)] })
async function scene(script: Answer[], files = {}): Promise<{ peer: Peer; place: Home }> {
  const peer = await startPeer(script)
  const place = await home(peer, files, {
    settings: { automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } } },
  })
  held.push(peer, place)
  return { peer, place }
}
const task = (place: Home, ...args: string[]) => vtcode(place, ['exec', '--quiet', '--mode', 'full-auto', ...args])
const revert = async (place: Home, ...args: string[]) => {
  const ran = await vtcode(place, ['revert', ...args, '--json'])
  return { ...ran, answer: ran.code === 0 ? JSON.parse(ran.out) : undefined }
}
/** Lists the content of the workspace except our own files, with modes. */
function tree(place: Home): string {
  const listed = execFileSync(
    'sh',
    ['-c', "find . -path ./.vtcode -prune -o -type f -printf '%m %p ' -exec sha256sum {} \\; | sort"],
    { cwd: place.root, encoding: 'utf8' },
  )
  return listed.replace(/ {2}\.\/\S+/g, '')
}

describe('vtcode revert', () => {
  it('restores files and conversation from before a turn, command changes included, and can be reverted', async () => {
    const { peer, place } = await scene(
      [
        file({ action: 'read', path: 'crlf.txt' }),
        file({ action: 'edit', path: 'run.sh', old_str: 'one', new_str: 'two' }),
        file({ action: 'write', path: 'sub/new.txt', content: 'new\n' }),
        { content: 'first' },
        file({ action: 'read', path: 'gone.txt' }),
        exec(
          "sed -i 's/two/three/' run.sh && rm gone.txt && chmod 600 crlf.txt && mkdir -p far && echo x > far/unseen.txt",
        ),
        file({ action: 'move', path: 'sub/new.txt', destination: 'moved/there.txt' }),
        file({ action: 'delete', path: 'crlf.txt' }),
        { content: 'second' },
        { content: 'third' },
      ],
      { 'run.sh': 'echo one\n', 'crlf.txt': 'a\r\nb\r\n', 'gone.txt': 'to go\n' },
    )
    chmodSync(join(place.root, 'run.sh'), 0o755)
    chmodSync(join(place.root, 'crlf.txt'), 0o640)
    const begin = tree(place)
    expect(await task(place, 'begin')).toMatchObject({ code: 0, out: 'first\n' })
    const one = tree(place)
    expect((await task(place, '--resume', 'last', 'go on')).code).toBe(0)
    const two = tree(place)
    expect(existsSync(join(place.root, 'gone.txt'))).toBe(false)

    expect((await revert(place, '--turn', '2', '--dry-run')).answer.reverted.sort()).toEqual([
      'crlf.txt',
      'far/unseen.txt',
      'gone.txt',
      'moved/there.txt',
      'run.sh',
      'sub/new.txt',
    ])
    expect(tree(place)).toBe(two)
    const { answer } = await revert(place, '--turn', '2')
    expect(answer).toMatchObject({ turn: 3, skipped: [], unrevertable: [] })
    expect(tree(place)).toBe(one)
    expect(statSync(join(place.root, 'run.sh')).mode & 0o777).toBe(0o755)
    expect((await task(place, '--resume', 'last', 'and now?')).code).toBe(0)
    const asked = peer.bodies
      .at(-1)
      .messages.filter(({ role, content }: any) => role !== 'tool' && content)
      .map(({ content }: any) => content)
    expect(asked.slice(1)).toEqual(['begin', 'first', 'and now?'])

    expect((await revert(place, '--turn', '3')).code).toBe(0)
    expect(tree(place)).toBe(two)
    expect((await revert(place, '--turn', '1')).code).toBe(0)
    expect(tree(place)).toBe(begin)
  })

  it('refuses completely when another program changed a file since, unless asked to', async () => {
    const { place } = await scene(
      [
        file({ action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'two' }),
        file({ action: 'edit', path: 'b.txt', old_str: 'one', new_str: 'two' }),
        { content: 'ok' },
      ],
      { 'a.txt': 'one\n', 'b.txt': 'one\n' },
    )
    await task(place, 'go')
    writeFileSync(join(place.root, 'a.txt'), 'mine\n')
    const refused = await vtcode(place, ['revert', '--turn', '1'])
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('VT_REVERT_CONFLICT: Changed since by somebody else: a.txt'),
    ])
    expect([await place.read('a.txt'), await place.read('b.txt')]).toEqual(['mine\n', 'two\n'])
    expect((await revert(place, '--turn', '1', '--scope', 'code', '--paths', 'b.txt')).answer.reverted).toEqual([
      'b.txt',
    ])
    expect([await place.read('a.txt'), await place.read('b.txt')]).toEqual(['mine\n', 'one\n'])
    expect((await revert(place, '--turn', '1', '--force')).code).toBe(0)
    expect(await place.read('a.txt')).toBe('one\n')
  })

  it('reverts the conversation alone, and keeps the files', async () => {
    const { peer, place } = await scene([
      { content: 'first' },
      file({ action: 'write', path: 'a.txt', content: 'new\n' }),
      { content: 'second' },
      { content: 'third' },
      { content: 'fourth' },
    ])
    await task(place, 'begin')
    await task(place, '--continue', 'go on')
    expect((await revert(place, '--turn', '2', '--scope', 'conversation', '--dry-run')).answer).toMatchObject({
      reverted: [],
      skipped: [],
    })
    expect((await revert(place, '--turn', '2', '--scope', 'conversation')).answer).toMatchObject({
      reverted: [],
      skipped: [],
      turn: 3,
    })
    expect(await place.read('a.txt')).toBe('new\n')
    const asked = async (text: string) => {
      await task(place, '--continue', text)
      return peer.bodies
        .at(-1)
        .messages.filter(({ role, content }: any) => role !== 'tool' && role !== 'system' && content)
        .map(({ content }: any) => content)
    }
    expect(await asked('and now?')).toEqual(['begin', 'first', 'and now?'])
    // Files of that turn can still be restored, and so can the reverted conversation.
    expect((await revert(place, '--turn', '2', '--scope', 'code')).answer.reverted).toEqual(['a.txt'])
    expect(await place.read('a.txt')).toBeUndefined()
    expect((await revert(place, '--turn', '3', '--scope', 'conversation')).code).toBe(0)
    expect(await asked('again')).toEqual(['begin', 'first', 'go on', 'second', 'again'])
    expect(await place.read('a.txt')).toBeUndefined()
  })

  it('leaves a file that is too large for a checkpoint', async () => {
    const { place } = await scene(
      [
        file({ action: 'read', path: 'big.bin' }),
        exec('printf small > big.bin && echo two > a.txt'),
        { content: 'ok' },
      ],
      { 'a.txt': 'one\n' },
    )
    writeFileSync(join(place.root, 'big.bin'), '')
    truncateSync(join(place.root, 'big.bin'), 65 * 1024 * 1024)
    expect((await task(place, 'go')).code).toBe(0)
    expect((await revert(place, '--turn', '1')).answer).toMatchObject({
      reverted: ['a.txt'],
      unrevertable: expect.arrayContaining(['big.bin']),
    })
    expect(await place.read('big.bin')).toBe('small')
  })

  it('restores files that a link, a folder or nothing replaces', async () => {
    const { place } = await scene(
      [exec('rm a.txt && ln -s /etc/hostname a.txt && rm b.txt && mkdir b.txt && rm -r d'), { content: 'ok' }],
      { 'a.txt': 'a\n', 'b.txt': 'b\n', 'd/c.txt': 'c\n' },
    )
    const begin = tree(place)
    await task(place, 'go')
    const { answer } = await revert(place, '--turn', '1', '--scope', 'code')
    expect(answer).toMatchObject({ reverted: expect.arrayContaining(['a.txt', 'b.txt', 'd/c.txt']), skipped: [] })
    expect(tree(place)).toBe(begin)
    const { turn } = answer as { turn: number }
    await revert(place, '--turn', String(turn), '--scope', 'code')
    expect(lstatSync(join(place.root, 'a.txt')).isSymbolicLink()).toBe(true)
  })

  it('restores the changes of a command whose program was killed during it', async () => {
    const { place } = await scene(
      [file({ action: 'read', path: 'a.txt' }), exec('echo two > a.txt; sleep 30'), { content: 'ok' }],
      { 'a.txt': 'one\n' },
    )
    await vtcode(place, ['exec', '--quiet', '--mode', 'full-auto', 'go'], {
      started: (child) => {
        const look = setInterval(
          () =>
            readFileSync(join(place.root, 'a.txt'), 'utf8') === 'two\n' && (clearInterval(look), child.kill('SIGKILL')),
          50,
        )
      },
    })
    expect((await vtcode(place, ['--mode', 'full-auto', 'resume', '--last', '--continue-turn'])).out).toBe('ok\n')
    expect((await revert(place, '--turn', '1', '--scope', 'code')).answer.reverted).toEqual(['a.txt'])
    expect(await place.read('a.txt')).toBe('one\n')
  })

  it('takes no longer after many reverts than after one', async () => {
    const { peer, place } = await scene([{ content: 'first' }, { content: 'last' }])
    await task(place, 'begin')
    const session = readdirSync(join(place.root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))!
    const journal = join(place.root, '.vtcode/sessions', session, 'messages.jsonl')
    let n = readFileSync(journal, 'utf8').trim().split('\n').length
    const add = (turn: number, fact: object) => {
      const own = JSON.stringify({ n: ++n, ts: new Date().toISOString(), turn, ...fact })
      const body = `${own.slice(0, -1)},"seal":"${markIn(place, session, own)}"}`
      appendFileSync(journal, `${body.slice(0, -1)},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}\n`)
    }
    // Each reverts the one turn before it, like a person who tries again and again.
    for (let turn = 2; turn < 100; turn += 2) {
      add(turn, {
        kind: 'turn_start',
        turn_id: `tn_${turn}`,
        input: { role: 'user', parts: [{ type: 'text', text: `try ${turn}` }] },
      })
      add(turn, { kind: 'turn_end', status: 'completed' })
      add(turn + 1, { kind: 'revert', to_turn: turn, scope: 'conversation' })
    }
    expect(await task(place, '--resume', 'last', 'on')).toMatchObject({ code: 0, out: 'last\n' })
    expect(
      peer.bodies
        .at(-1)
        .messages.slice(1)
        .map(({ content }: any) => content),
    ).toEqual(['begin', 'first', 'on'])
  })

  it('reports an unknown turn, an unknown session and a wrong number', async () => {
    const { place } = await scene([{ content: 'ok' }])
    expect((await vtcode(place, ['revert', '--turn', '1'])).err).toContain('VT_SESSION_NOT_FOUND')
    await task(place, 'go')
    expect(await vtcode(place, ['revert', '--turn', '5'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('VT_REVERT_NO_CHECKPOINT'),
    })
    expect((await vtcode(place, ['revert', '--turn', 'x'])).code).toBe(2)
    expect(await vtcode(place, ['revert'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing to revert'),
    })
  })

  it('runs no program of the repository while it watches and restores', async () => {
    const { place } = await scene(
      [
        file({ action: 'read', path: 'a.txt' }),
        exec('true'),
        file({ action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'two' }),
        { content: 'ok' },
      ],
      { 'a.txt': 'one\n', '.gitattributes': '* filter=evil\n' },
    )
    const ran = join(place.root, 'ran')
    spawnSync('git', ['init', '-q'], { cwd: place.root })
    for (const [key, value] of [
      ['filter.evil.clean', `touch ${ran}`],
      ['filter.evil.smudge', `touch ${ran}`],
      ['core.fsmonitor', `touch ${ran}`],
    ])
      spawnSync('git', ['config', key!, value!], { cwd: place.root })
    cpSync('/bin/true', join(place.root, '.git/hooks/post-checkout'))
    await task(place, 'go')
    expect((await revert(place, '--turn', '1')).answer.reverted).toEqual(['a.txt'])
    expect([existsSync(ran), readFileSync(join(place.root, 'a.txt'), 'utf8')]).toEqual([false, 'one\n'])
  })
})
