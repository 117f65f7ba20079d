import { spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { createTempFolder } from '../../../../build/plugins/lib/base/index.js'
import {
  openSpool,
  openPrivateFolder,
  readPrivateFile,
  writeSpool,
  listSpoolFiles,
  TokenStore,
} from '../../../../build/plugins/lib/state/index.js'

const folder = () => mkdtempSync(join(tmpdir(), 'state-'))
const home = join(process.env['HOME']!, '.vtcode')
const modeOf = (path: string) => statSync(path).mode & 0o777
const contextOf = (workspace: Awaited<ReturnType<typeof openWorkspace>>, id: string) =>
  ({ workspace, session: { id, onClose: () => {} } }) as unknown as Parameters<typeof openSpool>[0]

describe('private files', () => {
  it('reads a regular file and refuses a link, a pipe, a folder or a device without waiting', async () => {
    const place = folder()
    const at = (name: string) => join(place, name)
    writeFileSync(at('file'), 'text')
    symlinkSync('file', at('link'))
    symlinkSync('nowhere', at('dangling'))
    mkdirSync(at('folder'))
    spawnSync('mkfifo', [at('pipe')])
    expect([await readPrivateFile(at('file')), await readPrivateFile(at('none'))]).toEqual(['text', undefined])
    for (const [name, why] of [
      ['link', 'a link'],
      ['dangling', 'a link'],
      ['pipe', 'not a regular file'],
      ['folder', 'not a regular file'],
      ['../../../../../../../../dev/null', 'not a regular file'],
    ] as const) {
      await expect(readPrivateFile(join(place, name)), name).rejects.toThrow(why)
    }
  })
  it('keeps its folder ignored by git and closed to others, and creates nothing through a link', async () => {
    const [root, outside] = [folder(), folder()]
    const workspace = await openWorkspace(root, { home })
    await using first = await openPrivateFolder(workspace, '.vtcode/spool')
    expect(first.resolved).toBe('.vtcode/spool')
    expect([
      modeOf(join(root, '.vtcode')),
      modeOf(join(root, '.vtcode/spool')),
      readFileSync(join(root, '.vtcode/spool/.gitignore'), 'utf8'),
    ]).toEqual([0o700, 0o700, '*\n'])
    symlinkSync('spool', join(root, '.vtcode/inside'))
    await expect(openPrivateFolder(workspace, '.vtcode/inside')).rejects.toMatchObject({ name: 'VT_PATH_OUTSIDE' })
    symlinkSync(outside, join(root, '.vtcode/away'))
    await expect(openPrivateFolder(workspace, '.vtcode/away/below')).rejects.toMatchObject({ name: 'VT_PATH_OUTSIDE' })
    expect(readdirSync(outside)).toEqual([])
  })
})

describe('spool files', () => {
  it('belongs to the session that wrote it, whatever the label, and is readable by the user only', async () => {
    const root = folder()
    const workspace = await openWorkspace(root, { home })
    const written: [session: string, path: string, text: string][] = []
    for (const session of ['ses_1', 'ses_1-2', 'ses_../../x', 'loose']) {
      for (const label of ['run', '../../etc', 'a-b c', '']) {
        const text = `${session} ${label}`
        written.push([session, await writeSpool(contextOf(workspace, session), label, text), text])
      }
    }
    expect(new Set(written.map(([, path]) => path)).size).toBe(written.length)
    for (const [, path, text] of written) {
      expect(path).toMatch(/^\.vtcode\/spool\/[\w-]+\.txt$/)
      expect([readFileSync(join(root, path), 'utf8'), modeOf(join(root, path))]).toEqual([text, 0o600])
    }
    const pathsOf = (session: string) =>
      written
        .filter(([owner]) => owner === session)
        .map(([, path]) => path)
        .sort()
    for (const session of ['ses_1', 'ses_1-2', 'ses_../../x'])
      expect((await listSpoolFiles(workspace, session)).map(({ path }) => path).sort()).toEqual(pathsOf(session))
    expect((await listSpoolFiles(workspace)).length).toBe(written.length)
  })
  it('grows while it is written and lets written text be replaced', async () => {
    const root = folder()
    const file = await openSpool(contextOf(await openWorkspace(root, { home }), 'ses_1'), 'run', 'log')
    await file.write('one ')
    file.writeNow(Buffer.from('two'))
    await file.replace(0, Buffer.from('ONE'))
    await file.write('!')
    await file.close()
    expect(readFileSync(join(root, file.path), 'utf8')).toBe('ONE two!')
  })
})

it('makes a temporary folder per process and removes those of ended processes', () => {
  const before = process.env['TMPDIR']
  const [place, other] = [folder(), folder()]
  process.env['TMPDIR'] = place
  try {
    const gone = spawnSync('true').pid
    const [, realm] =
      /^vtcode-first-\d+-([0-9a-f]{8})-\w{6}$/.exec(createTempFolder('first').slice(place.length + 1)) ?? []
    // The sweep runs once per folder, so another folder shows its effect.
    process.env['TMPDIR'] = other
    const names = {
      gone: `vtcode-code-${gone}-${realm}-abcdef`,
      alive: `vtcode-code-${process.pid}-${realm}-abcdef`,
      elsewhere: `vtcode-code-${gone}-00000000-abcdef`,
      foreign: `other-code-${gone}-${realm}-abcdef`,
    }
    for (const name of Object.values(names)) mkdirSync(join(other, name))
    symlinkSync(place, join(other, `vtcode-link-${gone}-${realm}-abcdef`))
    const made = createTempFolder('second')
    expect(modeOf(made)).toBe(0o700)
    expect(
      Object.entries(names)
        .filter(([, name]) => existsSync(join(other, name)))
        .map(([which]) => which),
    ).toEqual(['alive', 'elsewhere', 'foreign'])
    expect(readdirSync(place)).toHaveLength(1)
  } finally {
    process.env['TMPDIR'] = before
  }
})

it('keeps a sign-in token for its server and user only and reads no damaged file', () => {
  const home = folder()
  const store = (to: string) =>
    new TokenStore<{ access_token: string }>(home, 'mcp-logins', { to, digits: 16 }, 'a server')
  store('https://a/').write({ access_token: 'secret-of-a' })
  expect([store('https://a/').read(), store('https://b/').read()]).toEqual([{ access_token: 'secret-of-a' }, undefined])
  const [name] = readdirSync(join(home, 'mcp-logins'))
  const file = join(home, 'mcp-logins', name!)
  expect(modeOf(file)).toBe(0o600)
  linkSync(file, `${file}.kept`)
  store('https://a/').write({ access_token: 'another' })
  // The file is replaced in one step, so a reader of the old file has it whole.
  expect(readFileSync(`${file}.kept`, 'utf8')).toContain('secret-of-a')
  for (const text of ['', '[]', 'null', '{"access_token":']) {
    writeFileSync(file, text)
    expect(store('https://a/').read()).toBeUndefined()
  }
  store('https://a/').forget()
  expect(existsSync(file)).toBe(false)
})
