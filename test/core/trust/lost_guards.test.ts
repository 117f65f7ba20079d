import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKernel, listConsentItems, openTrust, resolveHome, type Config } from 'vtcode'
import { bootKernel, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace({ 'secret.txt': 'secret\n', 'open.txt': 'open\n' })
})
afterEach(() => space[Symbol.asyncDispose]())

const env = () => ({ PATH: process.env['PATH'], HOME: space.home })
const put = (name: string, text: string): void => {
  mkdirSync(dirname(join(space.root, name)), { recursive: true })
  writeFileSync(join(space.root, name), text)
}
async function agree(chosen = (_id: string) => true): Promise<void> {
  const home = resolveHome({ env: env() })
  const trust = openTrust({ home, workspace: space.root, env: env() })
  const items = await listConsentItems({ workspace: space.root, home, user: space.home, env: env(), trust })
  trust.add(items.filter(({ id }) => chosen(id)))
}
/** Starts anew and returns the outcomes of reading both files, of writing one, and of a list. */
async function outcomes(config: Config = {}): Promise<string[]> {
  const kernel = await createKernel({ workspace: space.root, home: space.home, env: env(), mode: 'auto', config })
  try {
    const codes: string[] = []
    for (const input of [
      { action: 'read', path: 'secret.txt' },
      { action: 'read', path: 'open.txt' },
      { action: 'write', path: 'new.txt', content: 'x', mode: 'overwrite' },
    ]) {
      const result = await kernel.call('unified_file', input)
      codes.push(result.ok ? 'ok' : result.error.code.replace('VT_POLICY_', ''))
    }
    const listed = await kernel.call('unified_search', { action: 'list' })
    return [...codes, listed.ok ? 'ok' : listed.error.code.replace('VT_POLICY_', '')]
  } finally {
    await kernel.close()
  }
}
const [all, ofFiles, guarded, free] = [
  Array<string>(4).fill('NEEDS_APPROVAL'),
  [...Array<string>(3).fill('NEEDS_APPROVAL'), 'ok'],
  ['DENIED', 'ok', 'ok', 'ok'],
  Array<string>(4).fill('ok'),
]

const manifest = 'name: guard\nkind: policy\nslots: ["unified_file/*"]\ntimeout_secs: 60\nmodule: ./guard.js\n'
const module =
  "import { word } from './word.js'\nexport default ({ input }) => (input.path === word ? { deny: 'Not this.' } : undefined)\n"
function putGuard(): void {
  put('vtcode.config.yaml', 'manifests: [builtin, ./tools]\n')
  put('tools/guard.yaml', manifest)
  put('tools/guard.js', module)
  put('tools/word.js', "export const word = 'secret.txt'\n")
}

describe('guard of the workspace that the user agreed to', () => {
  it.each<[string, () => void]>([
    ['its script changed', () => put('tools/word.js', "export const word = ''\n")],
    ['its manifest covers nothing', () => put('tools/guard.yaml', manifest.replace('unified_file/*', 'none'))],
    ['its manifest is gone', () => rmSync(join(space.root, 'tools/guard.yaml'))],
    ['its folder is gone', () => renameSync(join(space.root, 'tools'), join(space.root, 'moved'))],
    ['its manifest cannot be read', () => put('tools/guard.yaml', ':')],
    [
      'another contribution has its place',
      () => put('tools/guard.yaml', 'name: guard\ndescription: None.\neffects: [read]\nmodule: ./guard.js\n'),
    ],
    ['another manifest has its name', () => put('tools/a.yaml', 'name: guard\nkind: policy\nrules: []\n')],
    [
      'the settings that name its folder changed',
      () => put('vtcode.config.yaml', 'manifests: [builtin, ./tools, ./more]\n'),
    ],
    [
      'the settings of the repository exclude it',
      () => put('vtcode.config.yaml', 'manifests: [builtin, ./tools]\nplugins: { disable: ["workspace:guard"] }\n'),
    ],
    [
      'the settings of the repository leave out its plugins',
      () => put('vtcode.config.yaml', 'manifests: [builtin, ./tools]\nplugins: { workspace: off }\n'),
    ],
    ['its folder becomes a plugin', () => put('tools/vtcode.yaml', 'name: other\n')],
    ['its folder becomes a package of another program', () => put('tools/.claude-plugin/plugin.json', '{"name":"x"}')],
    ['it needs another program', () => put('tools/guard.yaml', `${manifest}vtcode: ">=99"\n`)],
  ])('asks about the calls that the guard covered when %s', async (_, change) => {
    putGuard()
    await agree()
    expect(await outcomes()).toEqual(guarded)
    change()
    expect(await outcomes()).toEqual(ofFiles)
  })

  it('names the way to agree again or to end the guard, which works', async () => {
    putGuard()
    await agree()
    const read = async () => {
      const { stdout } = await vtcode(space, ['call', 'unified_file', 'read', '--path', 'secret.txt'])
      return JSON.parse(stdout) as { ok: boolean; error?: { code: string; message: string } }
    }
    put('tools/word.js', "export const word = 'open.txt'\n")
    expect((await read()).error).toMatchObject({
      code: 'VT_POLICY_NEEDS_APPROVAL',
      message: expect.stringContaining('vtcode trust'),
    })
    await agree()
    expect(await read()).toMatchObject({ ok: true })
    rmSync(join(space.root, 'tools'), { recursive: true })
    const { message } = (await read()).error!
    expect(message).toContain('tools/guard.yaml')
    const [, id] = /vtcode trust revoke (\S+?)`/.exec(message) ?? []
    expect((await vtcode(space, ['trust', 'revoke', id!])).code).toBe(0)
    expect(await read()).toMatchObject({ ok: true })
  })

  it('asks about nothing when the user leaves the guard out or revokes the consent', async () => {
    putGuard()
    await agree()
    expect(await outcomes({ plugins: { workspace: 'off' }, manifests: ['builtin'] })).toEqual(free)
    expect(await outcomes({ plugins: { disable: ['workspace:guard'] } })).toEqual(free)
    openTrust({ home: resolveHome({ env: env() }), workspace: space.root, env: env() }).revoke()
    expect(await outcomes()).toEqual(free)
  })

  it('stops every change while a policy has never had the consent of the user', async () => {
    putGuard()
    await agree((id) => id.endsWith('#manifests'))
    expect(await outcomes()).toEqual(['ok', 'ok', 'UNAVAILABLE', 'ok'])
  })

  it('asks about every call while lifecycle hooks of the settings wait for a new consent', async () => {
    const hook = 'if grep -q secret.txt; then echo no >&2; exit 2; fi\n'
    put('vtcode.config.yaml', 'hooks: { PreToolUse: [{ hooks: [{ command: "sh tools/hook.sh" }] }] }\n')
    put('tools/hook.sh', hook)
    await agree()
    expect(await outcomes()).toEqual(guarded)
    put('tools/hook.sh', 'cat >/dev/null\n')
    expect(await outcomes()).toEqual(all)
    await agree()
    expect(await outcomes()).toEqual(free)
  })

  it('asks about every call while settings in code wait for a new consent', async () => {
    put('vtcode.config.js', "import { deny } from './rules.js'\nexport default { policy: { deny } }\n")
    put('rules.js', "export const deny = ['Read(secret.txt)']\n")
    await agree()
    expect(await outcomes()).toEqual(guarded)
    put('rules.js', 'export const deny = []\n')
    expect(await outcomes()).toEqual(all)
  })

  it('asks about no call when hooks that guard nothing changed', async () => {
    put('vtcode.config.yaml', 'hooks: { SessionEnd: [{ hooks: [{ command: "sh tools/hook.sh" }] }] }\n')
    put('tools/hook.sh', 'true\n')
    await agree()
    put('tools/hook.sh', 'cat >/dev/null\n')
    expect(await outcomes()).toEqual(free)
  })
})

it('refuses a change with VT_POLICY_UNAVAILABLE while a policy of the workspace waits for a first consent', async () => {
  await using booted = await bootKernel({
    files: {
      '.vtcode/plugins/guard/vtcode.yaml': manifest.replace('timeout_secs: 60\n', ''),
      '.vtcode/plugins/guard/guard.js': module,
    },
  })
  expect(await booted.call('unified_file', { action: 'write', path: 'new.txt', content: 'x' })).toMatchObject({
    ok: false,
    error: { code: 'VT_POLICY_UNAVAILABLE', details: { not_applied: true } },
  })
})
