import { spawn } from 'node:child_process'
import { afterEach, expect, it } from 'vitest'
import { eventually } from '../../support/exec.js'
import { call, home, startPeer, vtcode } from '../../support/peer.js'
import { bin } from '../../support/program.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

it('prints the answer of vtcode ask alone, as JSON or only its code, and changes nothing', async () => {
  const answer = 'Like this:\n```ts\nconst a = 1\n```\nThat is all.'
  const peer = await startPeer([
    { toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'x' })] },
    { content: 'Done, I created a.txt.' },
    { content: 'I may not.' },
    { content: answer },
    { content: answer },
    { content: 'no tools' },
  ])
  const place = await home(peer)
  held.push(peer, place)
  expect(await vtcode(place, ['ask', 'write', 'a', 'file'])).toEqual({
    code: 1,
    out: 'I may not.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
    err: expect.stringMatching(
      /^Not applied: unified_file a.txt \(VT_POLICY_DENIED\)\nvtcode: error: A change was refused, and none was made after it.\n {2}Allow it by a rule or another mode, then `vtcode resume ses_\w+` continues.\n$/,
    ),
  })
  expect(await place.read('a.txt')).toBeUndefined()
  expect(await vtcode(place, ['ask', '--code', 'how?'])).toEqual({ code: 0, out: 'const a = 1\n', err: '' })
  const { out } = await vtcode(place, ['ask', '--output-format', 'json', 'how?'])
  expect(JSON.parse(out)).toMatchObject({
    response: answer,
    provider: 'peer',
    model: 'm',
    cost_usd: null,
    session_id: expect.stringMatching(/^ses_/),
  })
  await vtcode(place, ['ask', '--no-tools', 'x'])
  expect(peer.bodies.map(({ tools }) => tools !== undefined)).toEqual([true, true, true, true, true, false])
  expect((await vtcode(place, ['ask'])).code).toBe(2)
})

it('refuses every mode of vtcode ask that could change something and names the verb for it', async () => {
  const peer = await startPeer([
    { toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'x' })] },
    { content: 'done' },
    { content: 'not done' },
  ])
  const place = await home(peer)
  held.push(peer, place)
  for (const mode of ['ask', 'auto', 'full-auto']) {
    const { code, err, out } = await vtcode(place, ['ask', '--mode', mode, 'write', 'a', 'file'])
    expect([mode, code, out, err]).toEqual([
      mode,
      2,
      '',
      expect.stringMatching(new RegExp(`--mode ${mode}[\\s\\S]*vtcode exec --mode ${mode}`)),
    ])
  }
  expect(peer.bodies).toEqual([])
  expect(await place.read('a.txt')).toBeUndefined()
  expect(await vtcode(place, ['ask', '--mode', 'plan', 'write', 'a', 'file'])).toMatchObject({
    code: 1,
    out: 'not done\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
  })
  expect(await place.read('a.txt')).toBeUndefined()
})

it('reads socket input of vtcode ask with the words, skips a silent socket and reports late input', async () => {
  const peer = await startPeer([{ content: 'one' }, { content: 'two' }, { content: 'three', how: { latency: 600 } }])
  const place = await home(peer)
  held.push(peer, place)
  expect(await vtcode(place, ['ask', 'what is this?'], { input: 'text of the socket' })).toMatchObject({
    code: 0,
    out: 'one\n',
    err: '',
  })
  expect(peer.bodies[0].messages.at(-1).content).toBe('what is this?\n\n<stdin>\ntext of the socket\n</stdin>')
  const open = (late?: string) => {
    const child = spawn(process.execPath, [bin, 'ask', 'what is this?'], {
      cwd: place.root,
      env: place.env,
      stdio: 'pipe',
    })
    const said = { err: '' }
    child.stderr.on('data', (chunk: Buffer) => (said.err += String(chunk)))
    if (late !== undefined) void eventually(() => peer.bodies.length === 3).then(() => child.stdin.write(late))
    return new Promise<[number | null, string]>((resolve) => child.on('close', (code) => resolve([code, said.err])))
  }
  expect(await open()).toEqual([0, ''])
  expect(await open('late')).toEqual([0, expect.stringContaining('too late')])
  expect(peer.bodies[2].messages.at(-1).content).toBe('what is this?')
})

it('answers in a checkout that cannot be written, and keeps no session', async () => {
  const peer = await startPeer([
    { toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] },
    { content: 'It holds text.' },
  ])
  const place = await home(peer, { 'a.txt': 'text\n' })
  held.push(peer, place)
  const mounts = ['--dev-bind', '/', '/', '--ro-bind', place.root, place.root, '--chdir', place.root]
  const child = spawn('bwrap', [...mounts, process.execPath, bin, 'ask', 'what is in a.txt?'], {
    env: place.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += String(chunk)))
  child.stderr.on('data', (chunk: Buffer) => (err += String(chunk)))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect([code, out, err]).toEqual([
    0,
    'It holds text.\n',
    expect.stringContaining('cannot be written, so the session is not kept'),
  ])
  expect(await place.read('.vtcode/sessions')).toBeUndefined()
})

it('names the form of a question that begins with a dash', async () => {
  const peer = await startPeer([{ content: 'ok' }])
  const place = await home(peer)
  held.push(peer, place)
  expect(await vtcode(place, ['ask', '-x does what?'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('Write it last, after -- and a space.'),
  })
  expect(await vtcode(place, ['ask', '--', '-x does what?'])).toMatchObject({ code: 0, out: 'ok\n' })
})
