import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../support/program.js'

const plugin = {
  'tools/loud.yaml': 'name: loud\ndescription: Is loud.\neffects: [read]\nmodule: ./loud.js\n',
  'tools/loud.js': "// \u001b[2Khidden \u202e\nexport default () => ({ ok: true, output: {}, text: 'loud' })\n",
  'vtcode.config.yaml': 'manifests: [builtin, ./tools]\n',
}
const call = async (made: TempWorkspace) => JSON.parse((await vtcode(made, ['call', 'loud'])).stdout)
const items = async (made: TempWorkspace) => JSON.parse((await vtcode(made, ['trust', 'list', '--json'])).stdout)

describe('vtcode trust', () => {
  it('lets code of the workspace run after consent, and not after one byte of it has changed', async () => {
    await using made = await tempWorkspace(plugin)
    expect((await call(made)).ok).toBe(false)
    expect((await vtcode(made, ['trust', 'add', '--all'])).code).toBe(0)
    expect((await vtcode(made, ['trust', 'add', '--all'])).code).toBe(0)
    expect(await call(made)).toMatchObject({ ok: true, text: 'loud' })
    await made.write('tools/loud.js', `${plugin['tools/loud.js']} `)
    expect((await call(made)).ok).toBe(false)
  })

  it('records every consent where the settings of the user name a file', async () => {
    await using made = await tempWorkspace({
      ...plugin,
      'vtcode.config.yaml': 'manifests: [builtin, ./tools]\ntrust: { audit_log: mine.jsonl }\n',
    })
    mkdirSync(join(made.home, '.vtcode'))
    writeFileSync(join(made.home, '.vtcode/vtcode.config.yaml'), 'trust: { audit_log: ~/consents.jsonl }\n')
    await vtcode(made, ['trust', 'add', '--all'])
    await vtcode(made, ['trust', 'revoke', '--all'])
    const lines = readFileSync(join(made.home, 'consents.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(lines.map(({ event, id }) => [event, id])).toEqual([
      ['granted', 'vtcode.config.yaml#manifests'],
      ['granted', 'workspace:loud'],
      ['revoked', 'vtcode.config.yaml#manifests'],
      ['revoked', 'workspace:loud'],
    ])
    expect(await made.read('mine.jsonl')).toBe(undefined)
  })

  it('shows every byte escaped, and grants nothing without a terminal', async () => {
    await using made = await tempWorkspace(plugin)
    const ran = await vtcode(made, ['trust'], { stdin: 'y\ny\n' })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('// \\u{1b}[2Khidden \\u{202e}')
    expect(ran.stderr).toContain('vtcode trust --digest')
    expect((await items(made)).items.every(({ trusted }: { trusted: boolean }) => !trusted)).toBe(true)
  })

  it('shows what settings of the workspace would run, word for word', async () => {
    await using made = await tempWorkspace({
      'vtcode.config.yaml':
        'hooks: { PreToolUse: [{ matcher: \'*\', hooks: [{ command: touch PWNED }] }] }\nmcp: { servers: { evil: { command: touch, args: [PWNED-too, "\\u202e"] } } }\n',
    })
    const { stderr } = await vtcode(made, ['trust'])
    for (const text of ['"command": "touch PWNED"', '"PWNED-too"', '\\u{202e}']) expect(stderr).toContain(text)
    expect((await items(made)).items.map(({ value }: { value: unknown }) => value)).toContainEqual({
      evil: { command: 'touch', args: ['PWNED-too', '\u202e'] },
    })
    expect((await vtcode(made, ['tools'])).stderr).not.toMatch(/evil.*cannot be started/)
  })

  it('agrees by the digest of everything, and to nothing by another one', async () => {
    await using made = await tempWorkspace(plugin)
    const { digest } = await items(made)
    expect((await vtcode(made, ['trust', '--digest', 'f'.repeat(64)])).code).toBe(1)
    expect((await items(made)).items.some(({ trusted }: { trusted: boolean }) => trusted)).toBe(false)
    expect((await vtcode(made, ['trust', '--digest', digest])).code).toBe(0)
    expect((await items(made)).items.every(({ trusted }: { trusted: boolean }) => trusted)).toBe(true)
  })

  it('revokes consent', async () => {
    await using made = await tempWorkspace(plugin)
    await vtcode(made, ['trust', 'add', '--all'])
    expect((await vtcode(made, ['trust', 'revoke'])).code).toBe(2)
    expect((await vtcode(made, ['trust', 'revoke', '--all'])).code).toBe(0)
    expect((await call(made)).ok).toBe(false)
  })

  it('refuses consent by a program that vtcode started', async () => {
    await using made = await tempWorkspace(plugin)
    const ran = await vtcode(made, ['trust', 'add', '--all'], { env: { VTCODE: '1' } })
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect((await items(made)).items.some(({ trusted }: { trusted: boolean }) => trusted)).toBe(false)
  })

  it('asks a person at a terminal, one item at a time', async () => {
    await using made = await tempWorkspace(plugin)
    for (const [answer, trusted] of [
      ['n', false],
      ['y', true],
    ] as const) {
      await atTerminal(made, ['trust'], answer)
      const { items: all } = await items(made)
      expect(all.length).toBeGreaterThan(0)
      expect(all.some((item: { trusted: boolean }) => item.trusted)).toBe(trusted)
    }
  })

  it('asks nothing in a workspace that holds only data', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'x' })
    expect(await vtcode(made, ['trust'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing') })
  })
})

/** Runs the program on a pseudo-terminal of python's and gives every question the same answer. */
async function atTerminal(made: TempWorkspace, argv: string[], answer: string): Promise<void> {
  execFileSync('python3', ['--version'])
  const script = `
import os, pty, sys
answer = sys.argv[1].encode() + b'\\n'
pid, fd = pty.fork()
if pid == 0: os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while True:
    try: data = os.read(fd, 65536)
    except OSError: break
    if not data: break
    seen += data
    while b'[y/N] ' in seen:
        seen = seen.split(b'[y/N] ', 1)[1]
        os.write(fd, answer)
os.waitpid(pid, 0)
`
  const child = spawn('python3', ['-c', script, answer, process.execPath, bin, ...argv], {
    cwd: made.root,
    env: surroundings(made),
    stdio: 'ignore',
  })
  await new Promise((resolve) => child.on('close', resolve))
}
