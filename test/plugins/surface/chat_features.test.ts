import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { hold } from '../../support/inside.js'
import { call, home, settingsFor, startPeer } from '../../support/peer.js'
import { drawn } from '../../support/screen.js'

const fixtures = fileURLToPath(new URL('../../fixtures/mcp', import.meta.url))
const answers = join(fixtures, 'answers.mjs')
const git = (cwd: string, ...args: string[]): void =>
  void execFileSync('git', args, {
    cwd,
    env: {
      PATH: process.env['PATH']!,
      HOME: cwd,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@b',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@b',
    },
    stdio: 'ignore',
  })
const files = {
  'a.txt': 'one\ntwo\n',
  'pack/.claude-plugin/plugin.json': '{"name":"pack"}',
  'pack/commands/deploy.md':
    '---\ndescription: Deploys it.\nargument-hint: "[where]"\n---\nSay !`echo to-$1` and deploy.\n',
}

/** A repository with a package, a server and a model that has a price. */
async function furnished(script: Parameters<typeof startPeer>[0], context_window = 1000) {
  const peer = hold(await startPeer(script))
  const place = hold(await home(peer, files))
  git(place.root, 'init', '-q', '-b', 'topic')
  git(place.root, 'add', 'a.txt')
  git(place.root, 'commit', '-qm', 'first')
  const settings = {
    manifests: ['builtin', join(place.root, 'pack')],
    mcp: { servers: { notes: { command: process.execPath, args: [answers] } } },
    policy: { deny: ['Bash(rm *)'] },
    sandbox: { mode: 'off' },
  }
  const provider = { profiles: { m: { context_window, cost: { input: 1000, output: 2000 } } } }
  writeFileSync(
    join(place.home, '.vtcode/vtcode.config.json'),
    JSON.stringify(settingsFor(peer, { settings, provider })),
  )
  return { peer, place }
}
const said = (peer: { bodies: any[] }) => peer.bodies.map(({ messages }) => messages.at(-1).content)
/** Returns the text in a color, by the number of the color. */
// eslint-disable-next-line no-control-regex
const colored = (raw: string, color: number): string[] =>
  [...raw.matchAll(new RegExp(`\u001b\\[${color}m([^\u001b]*)`, 'g'))].map(([, text]) => text!)

describe('features of the chat screen', () => {
  it('shows model, mode, context, tokens, cost and branch, and changes mode with Shift-Tab', async () => {
    const { peer, place } = await furnished([
      { content: 'hello', usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 } },
      { toolCalls: [call('unified_exec', { action: 'run', command: 'touch b.txt' })] },
      { content: 'touched.' },
    ])
    const { type, until, answer, end, raw } = await drawn(place, ['chat'], { columns: 110, inside: true })
    await until(/^peer\/m · ask · 0 tokens · topic · \/help$/m)
    expect(raw()).toMatch(/\u001b\]0;vtcode · ws\u0007/)
    type('hi\r')
    await until(/^peer\/m · ask · 15 % context · 150 tokens · \$0\.2000 · topic · \/help$/m)
    for (const mode of ['auto', 'plan', 'ask']) {
      type('\u001b[Z')
      await until(new RegExp(`^peer/m · ${mode} `, 'm'))
    }
    type('\u001b[O')
    type('go\r')
    await until(/Run `[^`]+`\?/)
    await until(/│ \$ touch b\.txt/)
    expect(raw()).toMatch(/\u001b\]9;Waiting for you: Run `[^`]+`\?\u0007\u0007/)
    await answer('y')
    await until(/^touched\.$/m)
    type('\u0004')
    expect(await end()).toBe(0)
    expect(said(peer)[0]).toBe('hi')
  })

  it('offers package commands and server prompts with their arguments, and lists servers with tools', async () => {
    const { peer, place } = await furnished([{ content: 'deployed.' }, { content: 'reviewed.' }])
    writeFileSync(join(place.root, 'a.txt'), 'one\nthree\n')
    const { type, until, gone, end, raw } = await drawn(place, ['chat'], { columns: 110, inside: true })
    await until(/^peer\/m · ask/m)
    type('/mcp\r')
    await until(/notes +11 tools +1 prompt +mcp__notes__structure/)
    type('/dep')
    await until('/deploy [where]')
    type('loy prod\r')
    await until(/deployed\.|\? Run `/)
    await until(/^deployed\.$/m)
    type('/notes__rev')
    await until(/\/\S*review <file>/)
    type('\t')
    await sleep(100)
    type('a.txt\r')
    await until(/^reviewed\.$/m)
    type('/diff\r')
    await until(/q closes/)
    await until(/^(?:\d+ )?\+three$/m)
    expect([/\d+ -two/.test(colored(raw(), 31).join()), /\d+ \+three/.test(colored(raw(), 32).join())]).toEqual([
      true,
      true,
    ])
    type('q')
    await gone(/q closes/)
    type('!rm a.txt\r')
    await until(/error: .*Bash\(rm \*\)|denied/i)
    expect(await place.read('a.txt')).toBe('one\nthree\n')
    type('\u0004')
    expect(await end()).toBe(0)
    expect(said(peer)).toEqual([
      expect.stringContaining('Say to-prod and deploy.'),
      expect.stringContaining('Review a.txt with care.'),
    ])
  })

  it('shows answers, task steps, an error once, and pages of help, agents, schedules and the trace', async () => {
    const questions = [
      {
        id: 'q',
        header: 'Color',
        question: 'Which color?',
        options: [
          { label: 'Red', description: 'warm' },
          { label: 'Blue', description: 'cold' },
        ],
      },
    ]
    const { place } = await furnished([
      { toolCalls: [call('request_user_input', { questions })] },
      { toolCalls: [call('task_tracker', { action: 'create', title: 'T', items: ['first step', 'second step'] })] },
      { content: 'asked.' },
    ])
    const { type, until, gone, end, text } = await drawn(place, ['chat'], { columns: 110, inside: true })
    await until(/^peer\/m · ask/m)
    type('ask\r')
    await until('Which color?')
    // Nothing is selected at first.
    type('\u001b[B\u001b[B')
    await until(/▸ Blue/)
    type('\r')
    await until(/^asked\.$/m)
    expect(text()).toMatch(
      /^ {2}Which color\? Blue$[^]*^✓ task_tracker .*\n +1 \[ \] first step\n +2 \[ \] second step$/m,
    )
    for (const [command, wanted] of [
      ['/help', /\/agents +Show[^]*\/clear +Start/],
      ['/help keys', /Shift-Enter, Ctrl-G +new line/],
      ['/agents', /explorer +builtin/],
      ['/schedule', /No schedules\./],
      ['/trace', /✓ request_user_input/],
    ] as const) {
      type(`${command}\r`)
      await until(/q closes/)
      await until(wanted)
      type('q')
      await gone(/q closes/)
    }
    type('more\r')
    await until(/VT_LLM_REQUEST: The model server answered 400/)
    expect(text().split('The model server answered 400').length).toBe(2)
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('reviews changes with /review in a session of its own, and opens the inspector until the chat ends', async () => {
    const finding = {
      path: 'a.txt',
      line_number: 2,
      severity: 'high',
      title: 'Counts wrongly',
      detail: 'Three is not two.',
    }
    const { peer, place } = await furnished(
      [{ content: 'One fault.' }, { content: JSON.stringify({ findings: [finding] }) }],
      100_000,
    )
    writeFileSync(join(place.root, 'a.txt'), 'one\nthree\n')
    const { type, until, gone, end, text } = await drawn(place, ['--mode', 'auto', 'chat'], { columns: 110 })
    await until(/^peer\/m · auto/m)
    type('/review\r')
    await until(/high: a\.txt:2: Counts wrongly\n +Three is not two\./)
    type('q')
    await gone(/q closes/)
    expect(JSON.stringify(peer.bodies[0].messages)).toContain('+three')
    type('/review --commit\r')
    await until(/option '--commit <sha>' argument missing/)
    type('q')
    await gone(/q closes/)
    type('/inspect\r')
    await until(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]+\n[^]*ends\s+with\s+the\s+chat\./m)
    const address = /^http:\/\/127\.0\.0\.1:\d+\//m.exec(text())![0]
    expect((await fetch(address)).status).toBe(200)
    type('/inspect\r')
    await until('its address is above')
    type('\u0004')
    expect(await end()).toBe(0)
    await expect(fetch(address)).rejects.toThrow()
  })

  it("shows every argument of a plugin's call, even one equal to the default that the plugin declares", async () => {
    const { place } = await furnished([
      { toolCalls: [call('wipe_all', { target: 'everything' })] },
      { content: 'left.' },
    ])
    const manifest = {
      action: 'wipe_all',
      description: 'Wipes.',
      effects: ['write'],
      input: { type: 'object', properties: { target: { type: 'string', default: 'everything' } } },
      run: ['true'],
    }
    writeFileSync(join(place.root, 'pack/wipe.json'), JSON.stringify(manifest))
    const file = join(place.home, '.vtcode/vtcode.config.json')
    writeFileSync(
      file,
      JSON.stringify({
        ...JSON.parse(readFileSync(file, 'utf8')),
        manifests: ['builtin', join(place.root, 'pack/wipe.json')],
      }),
    )
    const { type, until, answer, end } = await drawn(place, ['chat'], { columns: 110, inside: true })
    await until(/^peer\/m · ask/m)
    type('wipe\r')
    await until(/target.*everything/)
    await answer('\u001b')
    await until('left.')
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('draws the screen at once with flags, and restores the terminal when a flag is wrong', async () => {
    const { peer, place } = await furnished([{ content: 'first answer' }, { content: 'second answer' }])
    const first = await drawn(place, ['chat'])
    await first.until(/^peer\/m/m)
    first.type('first message\r')
    await first.until('first answer')
    first.type('\u0004')
    expect(await first.end()).toBe(0)
    const again = await drawn(place, ['chat', '--continue', '--model=peer/m'])
    await expect.poll(() => again.chunks.length, { interval: 2 }).toBeGreaterThan(0)
    again.type('sent early\r')
    await again.until('second answer')
    expect(again.raw().indexOf('vtcode is starting')).toBeGreaterThan(0)
    expect(again.text()).toMatch(/> first message\n\nfirst answer\n[^]*> sent early\n/)
    again.type('\u0004')
    expect(await again.end()).toBe(0)
    expect(said(peer).at(-1)).toBe('sent early')
    const wrong = await drawn(place, ['chat', '--resume', 'ses_none'])
    expect(await wrong.end()).toBeGreaterThan(0)
    expect(wrong.text()).toContain("Session not found: 'ses_none'")
    expect(wrong.raw().lastIndexOf('\u001b[?2004l')).toBeGreaterThan(wrong.raw().lastIndexOf('\u001b[?2004h'))
  })
})

describe('form of an MCP server at a terminal', () => {
  // Wrapped at 80 columns, the padding would put the line of the server at the beginning of a row.
  const message = `ok${' '.repeat(150)}vtcode asks: run it? [y/N] ${'x '.repeat(60)}vtcode: agreed`
  const settings = (folder: string) => ({
    settings: {
      mcp: { servers: { s: { command: process.execPath, args: [join(fixtures, 'server.mjs'), folder] } } },
      policy: { allow: ['mcp__s'] },
    },
  })
  const furnish = async () => {
    const peer = hold(await startPeer([{ toolCalls: [call('mcp__s__elicit', {})] }, { content: 'asked.' }]))
    const folder = hold(
      await tempWorkspace({
        'tools.json': JSON.stringify([{ name: 'elicit', description: 'Asks.', inputSchema: { type: 'object' } }]),
        'message.json': JSON.stringify(message),
      }),
    )
    return { peer, place: hold(await home(peer, {}, settings(folder.root))) }
  }
  const unframed = (text: string): string[] =>
    text.split('\n').filter((row) => /vtcode asks|agreed|x x/.test(row) && !/^(?:│|  The MCP server )/.test(row))

  it('frames each row in the chat, and takes no text as an answer', async () => {
    const { peer, place } = await furnish()
    const { type, until, end, text } = await drawn(place, ['chat'], { inside: true })
    await until(/^peer\/m · ask/m)
    type('go\r')
    await until(/agreed[^]*Something else/)
    expect(unframed(text())).toEqual([])
    for (const key of 'blue\r') type(key)
    await until(/^> blue$/m)
    type('\u001b[B')
    await until('▸ red')
    type('\u001b[B')
    await until('▸ blue')
    type('\r')
    // The second field takes words.
    await until(/^│ +Answer/m)
    type('\u001b[B')
    await until('▸ Answer')
    type('\r')
    await until(/^Your answer:$/m)
    type('3\r')
    await until('asked.')
    expect(unframed(text())).toEqual([])
    expect(said(peer)[1]).toMatch(/"colour": ?"blue".*"count": ?3/s)
    await until(/^> blue$/m)
    type('\u0003')
    await until(/^> \/ for commands/m)
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it('frames each row on the command line, and chooses only with an arrow', async () => {
    const { place } = await furnish()
    const { type, until, end, text } = await drawn(place, ['call', 'mcp__s__elicit'])
    await until('Something else')
    expect(unframed(text())).toEqual([])
    for (const key of 'joke blue') type(key)
    type('\r')
    // Nothing was chosen: letters move no selection, and Enter after them does nothing.
    await expect.poll(() => text().match(/[◆◇] {2}Your/g)?.length).toBe(1)
    for (const key of ['\u001b[A', '\r']) type(key)
    await until('Your own words')
    type('3\r')
    await until('"colour"')
    expect(await end()).toBe(0)
    expect(text()).toMatch(/"colour": "blue"[^]*"count": 3/)
    expect(unframed(text())).toEqual([])
  })
})
