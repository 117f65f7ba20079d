import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { packSession, unpackSession } from '../../../../build/plugins/agent/remote/index.js'

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-archive-'))
  folders.push(folder)
  return folder
}
async function unpack(files: unknown): Promise<string> {
  const [root, home] = [newFolder(), newFolder()]
  const workspace = openWorkspace(root, { home, user: home })
  try {
    await unpackSession(workspace, 'ses_one', gzipSync(JSON.stringify(files)))
  } finally {
    workspace.close()
  }
  return join(root, '.vtcode/sessions/ses_one')
}
const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

describe('packSession', () => {
  it('packs the files of a session without its lock, its images and links', async () => {
    const root = newFolder()
    const folder = join(root, '.vtcode/sessions/ses_one')
    mkdirSync(join(folder, 'prompts'), { recursive: true })
    mkdirSync(join(folder, 'images'))
    for (const name of ['messages.jsonl', 'lock', 'prompts/a.txt', 'images/b.png'])
      writeFileSync(join(folder, name), name)
    symlinkSync('/etc/hostname', join(folder, 'link'))
    const packed = JSON.parse(gunzipSync(await packSession(root, 'ses_one')).toString()) as Record<string, string>
    expect(Object.keys(packed).sort()).toEqual(['messages.jsonl', 'prompts/a.txt'])
    expect(packed['prompts/a.txt']).toBe(toBase64('prompts/a.txt'))
  })
})

describe('unpackSession', () => {
  it('writes the files of an archive into the folder of the session', async () => {
    const folder = await unpack({ 'events.jsonl': toBase64('{}\n'), 'prompts/a.txt': toBase64('a') })
    expect(readFileSync(join(folder, 'events.jsonl'), 'utf8')).toBe('{}\n')
    expect(readFileSync(join(folder, 'prompts/a.txt'), 'utf8')).toBe('a')
  })
  it.each(['../a', 'prompts/../../a', '/etc/a', 'a/b/c', '.hidden', ''])('refuses the name %j', async (name) => {
    await expect(unpack({ [name]: toBase64('a') })).rejects.toMatchObject({ code: 'VT_SESSION_CORRUPT' })
  })
  it('refuses an archive that is no object', async () => {
    await expect(unpack(['a'])).rejects.toMatchObject({ code: 'VT_SESSION_CORRUPT' })
  })
})
