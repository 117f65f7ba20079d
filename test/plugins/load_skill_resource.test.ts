import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, testAction, type Booted, type Files } from 'vtcode/test'
import { vtcode } from '../support/program.js'

const open: Booted[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((booted) => booted[Symbol.asyncDispose]()))
})
const at = (file: string) => `.agents/skills/demo/${file}`
const demo = '---\nname: demo\ndescription: Use it.\n---\nBody.\n'
async function loaded(files: Files = {}, how = {}): Promise<Booted> {
  const booted = await bootKernel({ files: { [at('SKILL.md')]: demo, ...files }, ...how })
  open.push(booted)
  await booted.call('load_skill', { name: 'demo' })
  return booted
}
const get = ({ call }: Booted, resource_path: string, more = {}) =>
  call('load_skill_resource', { skill_name: 'demo', resource_path, ...more })

describe('load_skill_resource', () => {
  for (const { title, run } of testAction('load_skill_resource')) it(title, run)

  it('reads a resource in pages and names the next call in its own fields', async () => {
    const booted = await loaded({ [at('references/a.md')]: 'one\ntwo\nthree\n' })
    matches(await get(booted, 'references/a.md', { page_size_lines: 2 }), {
      output: {
        content: 'one\ntwo\n',
        skill_name: 'demo',
        resource_path: 'references/a.md',
        has_more: true,
        next: {
          tool: 'load_skill_resource',
          input: { skill_name: 'demo', resource_path: 'references/a.md', offset_lines: 3, page_size_lines: 2 },
        },
      },
    })
  })

  it('reads the bytes of a binary resource', async () => {
    const booted = await loaded({ [at('a.bin')]: Uint8Array.from([0, 1, 2]) })
    const result = await get(booted, 'a.bin')
    matches(result, {
      error: {
        code: 'VT_FILE_BINARY',
        next: { tool: 'load_skill_resource', input: { skill_name: 'demo', resource_path: 'a.bin', offset_bytes: 0 } },
      },
    })
    matches(await get(booted, 'a.bin', { offset_bytes: 0 }), { output: { content: 'AAEC', encoding: 'base64' } })
  })

  it('reads pages in separate calls of the command line, in a named session and without one', async () => {
    await using made = await tempWorkspace({
      '.agents/skills/demo/SKILL.md': demo,
      [at('references/x.md')]: 'one\ntwo\n',
    })
    const read = ['load_skill_resource', '--skill_name', 'demo', '--resource_path', 'references/x.md']
    expect(
      JSON.parse((await vtcode(made, ['call', '--session', 's', 'load_skill', '--name', 'demo'])).stdout),
    ).toMatchObject({ ok: true })
    for (const words of [
      ['call', '--session', 's', ...read],
      ['call', ...read],
    ])
      expect(JSON.parse((await vtcode(made, words)).stdout)).toMatchObject({
        ok: true,
        output: { content: 'one\ntwo\n' },
      })
  })

  it('reads resources of a skill outside the workspace and changes no file there', async () => {
    const booted = await loaded({ 'references/x.md': 'of the workspace' })
    const folder = join(booted.home, '.agents/skills/mine/references')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '../SKILL.md'), demo.replace('demo', 'mine'))
    await writeFile(join(folder, 'x.md'), 'one\ntwo\n')
    await symlink(join(booted.home, 'secret'), join(folder, 'out.md'))
    await writeFile(join(booted.home, 'secret'), 'secret')
    const mine = (resource_path: string, more = {}) =>
      booted.call('load_skill_resource', { skill_name: 'mine', resource_path, ...more })
    matches(await mine('references/x.md'), {
      error: { code: 'VT_SKILL_NOT_LOADED', next: { tool: 'load_skill', input: { name: 'mine' } } },
    })
    await booted.call('load_skill', { name: 'mine' })
    matches(await mine('references/x.md', { offset_lines: 2 }), {
      output: { content: 'two\n', total_lines: 2, resource_path: 'references/x.md' },
    })
    for (const path of ['../../../secret', 'references/out.md', '/etc/passwd', join(booted.home, 'secret')]) {
      matches(await mine(path), { error: { code: 'VT_PATH_OUTSIDE' } })
    }
    matches(await mine('references/y.md'), { error: { code: 'VT_PATH_NOT_FOUND' } })
    matches(await mine('references/x.md', { offset_lines: 9 }), {
      error: { code: 'VT_FILE_OFFSET', next: { tool: 'load_skill_resource' } },
    })
    // A resource read there is no workspace file, so a later write needs no matching version.
    await booted.write('references/x.md', 'changed')
    matches(await booted.call('unified_file', { action: 'read', path: 'references/x.md' }), {
      output: { content: 'changed' },
    })
  })

  const outside = [
    '../other/SKILL.md',
    '../../../README.md',
    '/etc/passwd',
    'a/../../x',
    'link.md',
    'folder/other/SKILL.md',
    'references/\u0000x',
  ]
  it.each(outside)('refuses a path that leaves the skill: %j', async (path) => {
    const booted = await loaded({ 'README.md': 'x', '.env': 'KEY=1', '.agents/skills/other/SKILL.md': demo })
    await symlink('../../../.env', join(booted.root, at('link.md')))
    await symlink('..', join(booted.root, at('folder')))
    const result = await get(booted, path)
    expect(result.ok ? result.output : result.error.code).toMatch(/^VT_(PATH_OUTSIDE|INPUT_INVALID)$/)
    expect(JSON.stringify(result)).not.toContain('KEY=1')
  })

  it('applies the read rules of the user to resources inside the workspace', async () => {
    const booted = await loaded({ [at('.env')]: 'KEY=1' }, { config: { policy: { deny: ['Read(**/.env)'] } } })
    const result = await get(booted, '.env')
    matches(result, { error: { code: 'VT_POLICY_DENIED' } })
    expect(JSON.stringify(result)).not.toContain('KEY=1')
  })

  it('reports an unknown skill', async () => {
    const booted = await loaded()
    matches(await booted.call('load_skill_resource', { name: 'absent', path: 'x' }), {
      error: { code: 'VT_SKILL_UNKNOWN' },
    })
  })
})
