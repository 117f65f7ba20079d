import { execFile } from 'node:child_process'
import { lstat, mkdir, readdir, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Result } from 'vtcode'
import { bin, surroundings } from '../../support/program.js'
import { sealedIn } from '../../support/seal.js'

let plugins: TempWorkspace
beforeAll(async () => {
  const slot = (action: string): string =>
    `action: ${action}\neffects: [read]\ndescription: Says it.\ninput: { properties: { text: { type: string }, times: { type: integer, default: 1 } } }\nmodule: ./say.js\n`
  plugins = await tempWorkspace({
    'say.js': 'export default ({ input }) => ({ ok: true, output: {}, text: input.text.repeat(input.times) })\n',
    'say.yaml': slot('demo/say'),
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())

const boot = (): Promise<Booted> =>
  bootKernel({ manifests: [plugins.root], files: { 'long.txt': 'a line of a page\n'.repeat(1_200) } })
const textOf = (result: Result): string => (result.ok ? (result.text ?? '') : JSON.stringify(result.error))
const spoolOf = async ({ root }: Booted): Promise<string[]> =>
  (await readdir(join(root, '.vtcode/spool'))).filter((name) => name !== '.gitignore')

describe('spool', () => {
  it('leaves a text of 8,192 bytes unchanged and makes no folder for it', async () => {
    await using booted = await boot()
    expect(textOf(await booted.call('demo', { action: 'say', text: 'x', times: 8192 }))).toHaveLength(8192)
    await expect(lstat(join(booted.root, '.vtcode'))).rejects.toThrow('ENOENT')
  })

  it('writes a longer text to a spool file whole, shows its ends within the limit and names the file', async () => {
    await using booted = await boot()
    const text = textOf(await booted.call('demo', { action: 'say', text: 'line of é and 😀\n', times: 4000 }))
    const whole = 'line of é and 😀\n'.repeat(4000)
    const [name] = await spoolOf(booted)
    expect(await booted.read(`.vtcode/spool/${name}`)).toBe(whole)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8192)
    expect(Buffer.byteLength(text)).toBeGreaterThan(7500)
    expect(text).not.toContain('\uFFFD')
    expect(text.startsWith('line of é and 😀\n') && text.endsWith('line of é and 😀\n')).toBe(true)
    expect(text).toContain(`${Buffer.byteLength(whole)} bytes`)
    // Each dialect names its read action differently; the path is the same.
    expect(text).toContain(`bytes left out; the whole text is in .vtcode/spool/${name}\n`)
  })

  it('cuts a longer text where no spool file can be written, reports that and leaves no partial file', async () => {
    await using made = await tempWorkspace(
      Object.fromEntries(
        Array.from({ length: 90 }, (_, index) => [`${`${index}`.padStart(3, '0')}-${'n'.repeat(200)}.txt`, '']),
      ),
    )
    // The disk accepts the beginning of a file only, like a full one.
    const call = (...input: string[]) => [
      '-c',
      'ulimit -f 8; exec "$@"',
      'sh',
      process.execPath,
      bin,
      '--mode',
      'full-auto',
      '-c',
      'policy.allow=["unified_exec/run"]',
      '-c',
      'checkpoints.enabled=false',
      'call',
      ...input,
    ]
    for (const [input, whole] of [
      [['unified_search', 'list'], 90 * 208],
      [['unified_exec', 'run', '--command', 'seq 1 20000'], 40_000],
    ] as const) {
      const said = await new Promise<string>((resolve) =>
        execFile('sh', call(...input), { cwd: made.root, env: surroundings(made), maxBuffer: 1e7 }, (_, stdout) =>
          resolve(stdout),
        ),
      )
      const { ok, text } = JSON.parse(said)
      expect(ok, said.slice(0, 500)).toBe(true)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8192)
      const [, left, all] =
        /… (\d+) of (\d+) bytes left out; no spool file could be written \(EFBIG\); request less at once\n/.exec(text)!
      expect([Number(all) >= whole, Number(left) > Number(all) - 8192], text.slice(0, 200)).toEqual([true, true])
      expect(
        await readdir(join(made.root, '.vtcode/spool')).then(
          (names) => names.filter((name) => name !== '.gitignore'),
          () => [],
        ),
      ).toEqual([])
    }
  })

  it('counts bytes instead of characters and cuts a single long line between characters', async () => {
    await using booted = await boot()
    const text = textOf(await booted.call('demo', { action: 'say', text: '😀', times: 2500 }))
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8192)
    expect(text).not.toContain('\uFFFD')
    expect(text.endsWith('😀')).toBe(true)
  })

  it('keeps an answer that is a page already uncut', async () => {
    await using booted = await boot()
    expect(textOf(await booted.call('unified_file', { action: 'read', path: 'long.txt' }))).toBe(
      'a line of a page\n'.repeat(1_200),
    )
  })

  it('makes spool files readable by this user only and lets git ignore them', async () => {
    await using booted = await boot()
    await booted.call('demo', { action: 'say', text: 'x', times: 9000 })
    const [name] = await spoolOf(booted)
    expect((await lstat(join(booted.root, '.vtcode/spool', name!))).mode & 0o777).toBe(0o600)
    expect((await lstat(join(booted.root, '.vtcode/spool'))).mode & 0o077).toBe(0)
    expect(await booted.read('.vtcode/spool/.gitignore')).toBe('*\n')
  })

  it('follows no link in place of the spool folder, cuts the text and reports the reason', async () => {
    await using booted = await boot()
    await using elsewhere = await tempWorkspace()
    await mkdir(join(booted.root, '.vtcode'))
    await mkdir(join(booted.root, 'src'))
    for (const target of [elsewhere.root, '../src']) {
      await symlink(target, join(booted.root, '.vtcode/spool'))
      const result = await booted.call('demo', { action: 'say', text: 'x', times: 9000 })
      expect(Buffer.byteLength(textOf(result))).toBeLessThanOrEqual(8192)
      expect(textOf(result)).toContain(
        'of 9000 bytes left out; no spool file could be written (VT_PATH_OUTSIDE); request less at once\n',
      )
      expect([...(await readdir(elsewhere.root)), ...(await readdir(join(booted.root, 'src')))]).toEqual([])
      await unlink(join(booted.root, '.vtcode/spool'))
    }
  })

  it('keeps at most 200 spool files, none older than a day, and all of a live session', async () => {
    await using booted = await boot()
    await booted.call('demo', { action: 'say', text: 'mine', times: 9000 })
    const [mine] = await spoolOf(booted)
    const folder = join(booted.root, '.vtcode/spool')
    const days = (count: number): Date => new Date(Date.now() - count * 86_400_000)
    await utimes(join(folder, mine!), days(3), days(3))
    const stale = sealedIn(booted).text('', 999)
    await writeFile(join(folder, stale), '')
    await utimes(join(folder, stale), days(2), days(2))
    for (let index = 0; index < 205; index += 1) await writeFile(join(folder, sealedIn(booted).text('', index)), '')
    await booted.call('demo', { action: 'say', text: 'more', times: 9000 })
    const names = await spoolOf(booted)
    expect(names).toContain(mine)
    expect(names).not.toContain(stale)
    expect(names.length).toBeLessThanOrEqual(201)
  })

  it('keeps the spool files of a conversation as long as the conversation, at any number and age', async () => {
    await using booted = await boot()
    const folder = join(booted.root, '.vtcode/spool')
    await mkdir(join(booted.root, '.vtcode/sessions/ses_talk'), { recursive: true })
    await writeFile(join(booted.root, '.vtcode/sessions/ses_talk/messages.jsonl'), '')
    await mkdir(folder)
    const named = sealedIn(booted).text
    for (let index = 0; index < 205; index += 1)
      for (const owner of ['ses_talk', 'ses_gone']) await writeFile(join(folder, named(owner, index)), '')
    const old = new Date(Date.now() - 3 * 86_400_000)
    for (const owner of ['ses_talk', 'ses_gone']) await utimes(join(folder, named(owner, 7)), old, old)
    await booted.call('demo', { action: 'say', text: 'mine', times: 9000 })
    const names = await spoolOf(booted)
    expect(names.filter((name) => name.startsWith('ses_talk-'))).toHaveLength(205)
    expect(names.filter((name) => name.startsWith('ses_gone-')).length).toBeLessThanOrEqual(150)
    expect(names).not.toContain(named('ses_gone', 7))
  })

  it('cuts earlier where the context settings ask for that, and never later', async () => {
    for (const [threshold, longest, enabled = true] of [
      [4096, 4096],
      [100_000, 8192],
      [0, 8192],
      [4096, 8192, false],
    ] as const) {
      await using booted = await bootKernel({
        manifests: [plugins.root],
        config: { context: { dynamic: { enabled, tool_output_threshold: threshold } } } as never,
      })
      const text = textOf(await booted.call('demo', { action: 'say', text: 'x', times: 20_000 }))
      expect(text.length).toBeLessThanOrEqual(longest)
      expect(text.length).toBeGreaterThan(longest - 500)
    }
  })
})

describe('spool of long command output', () => {
  const sized = (bytes: number): string => `yes 0123456789abcde | head -c ${bytes}; echo; echo the very end`
  it.each([9_000, 60_000, 549_000, 3_000_000])(
    'writes %i bytes of output whole to the one named file with its sizes and shows the end',
    async (bytes) => {
      await using booted = await bootKernel({ mode: 'full-auto', config: { sandbox: { mode: 'off' } } as never })
      const result = await booted.call('unified_exec', {
        action: 'run',
        command: sized(bytes),
        max_output_tokens: 10_000,
      })
      const text = textOf(result)
      const names = [...new Set(text.match(/\.vtcode\/spool\/[\w.-]+/g))]
      expect([names.length, (await spoolOf(booted)).length]).toEqual([1, 1])
      const whole = (await booted.read(names[0]!))!
      const printed = bytes + '\nthe very end\n'.length
      expect(Buffer.byteLength(whole)).toBeGreaterThanOrEqual(printed)
      expect(Buffer.byteLength(whole)).toBeLessThan(printed + 200)
      expect(text).toContain(`of ${Buffer.byteLength(whole)} bytes`)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8192)
      const [head, tail] = text.split(/\n…[\s\S]*\n…/)
      expect(tail).toContain('the very end\n')
      expect(tail!.length).toBeGreaterThan(2 * head!.length)
    },
  )
})
