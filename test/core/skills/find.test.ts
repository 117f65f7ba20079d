import { existsSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKernel, openTrust, parseSkill, listConsentItems, type Config, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { rounds } from '../../support/exec.js'

let workspace: TempWorkspace
const open: Kernel[] = []
beforeEach(async () => {
  workspace = await tempWorkspace()
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((kernel) => kernel.close()))
  await workspace[Symbol.asyncDispose]()
})

async function kernel(config: Config = {}): Promise<Kernel> {
  const env = { PATH: process.env['PATH'], HOME: workspace.home }
  const made = await createKernel({ workspace: workspace.root, home: workspace.home, env, config })
  open.push(made)
  return made
}
const front = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Use ${name}.\n${more}---\nBody of ${name}.\n`
async function put(path: string, text: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}
const codesOf = ({ diagnostics }: { diagnostics: readonly { code: string }[] }) => diagnostics.map(({ code }) => code)

describe('front matter of skills', () => {
  const read = (text: string | Uint8Array, folder = 'demo') => {
    const reading = parseSkill(typeof text === 'string' ? Buffer.from(text) : text, `/s/${folder}/SKILL.md`)
    return { ...reading, found: reading.diagnostics.map(({ code, files }) => `${code} ${files[0]!.split(':').at(-1)}`) }
  }
  const block = (text: string) => `---\n${text}\n---\nBody.\n`

  const used: [title: string, text: string | Uint8Array, expected: object, diagnostics?: string[]][] = [
    ['as it is meant', block('name: demo\ndescription: Use it.'), { name: 'demo', description: 'Use it.' }],
    ['in flow style', block('{name: demo, description: "Use it: now"}'), { description: 'Use it: now' }],
    [
      'with anchors and aliases',
      block('name: &n demo\ndescription: Use it.\nmetadata:\n  again: *n'),
      { name: 'demo', metadata: { again: 'demo' } },
    ],
    [
      'with folded and literal scalars',
      block('name: demo\ndescription: >-\n  Use it\n  now.'),
      { description: 'Use it now.' },
    ],
    ['with a literal scalar', block('name: demo\ndescription: |\n  Use it\n  now.'), { description: 'Use it\nnow.' }],
    [
      'where values look like other types',
      block('name: demo\ndescription: yes\nlicense: 010\ncompatibility: 2020-01-01'),
      { description: 'yes', license: '010', compatibility: '2020-01-01' },
    ],
    ['with a comment and quoted keys', block('# why\n"name": demo\n\'description\': Use it.'), { name: 'demo' }],
    [
      'with CRLF line ends',
      block('name: demo\ndescription: Use it.').replaceAll('\n', '\r\n'),
      { description: 'Use it.' },
    ],
    ['with blanks behind the hyphens', '--- \t\nname: demo\ndescription: Use it.\n--- \nBody.\n', { name: 'demo' }],
    ['without a body', '---\nname: demo\ndescription: Use it.\n---', { name: 'demo' }],
    [
      'with a byte order mark, which is reported',
      `\uFEFF${block('name: demo\ndescription: Use it.')}`,
      { name: 'demo' },
      ['VT_SKILL_MENDED 1'],
    ],
    [
      'with a colon that is not quoted, which is reported',
      block('name: demo\ndescription: Use when: asked'),
      { description: 'Use when: asked' },
      ['VT_SKILL_MENDED 2'],
    ],
    [
      'with a reserved sign that is not quoted, which is reported',
      block('name: demo\ndescription: @State is used'),
      { description: '@State is used' },
      ['VT_SKILL_MENDED 2'],
    ],
    [
      'with hyphens in a value, which other readers end at',
      block('name: demo\ndescription: a --- b'),
      { description: 'a --- b' },
      ['VT_SKILL_SPLIT 3'],
    ],
    ['with the name of another', block('name: other\ndescription: Use it.'), { name: 'demo' }, ['VT_SKILL_NAME 2']],
    ['with a name in capitals', block('name: Demo\ndescription: Use it.'), { name: 'demo' }, ['VT_SKILL_NAME 2']],
    ['without a name', block('description: Use it.'), { name: 'demo' }, ['VT_SKILL_NAME 2']],
    [
      'with a name over 64 characters',
      block(`name: ${'a'.repeat(65)}\ndescription: Use it.`),
      { name: 'demo' },
      ['VT_SKILL_NAME 2'],
    ],
    [
      'with unknown keys',
      block('name: demo\ndescription: Use it.\nmodel: big\nargument-hint: file'),
      { argument_hint: 'file' },
      ['VT_SKILL_KEY 4', 'VT_SKILL_KEY 5'],
    ],
    [
      'with hooks, which are never honoured',
      block('name: demo\ndescription: Use it.\nhooks:\n  PreToolUse: x'),
      { name: 'demo' },
      ['VT_SKILL_KEY 4'],
    ],
    [
      'with tools as words',
      block('name: demo\ndescription: Use it.\nallowed-tools: Bash(git log:*), Read'),
      { allowed_tools: ['Bash(git log:*)', 'Read'] },
    ],
    [
      'with tools as a list',
      block('name: demo\ndescription: Use it.\nallowed-tools: [Read, Grep]'),
      { allowed_tools: ['Read', 'Grep'] },
      ['VT_SKILL_MENDED 4'],
    ],
    [
      'with metadata that is no map',
      block('name: demo\ndescription: Use it.\nmetadata: x'),
      { metadata: {} },
      ['VT_SKILL_MENDED 4'],
    ],
    [
      'hidden from models by any word for yes',
      block('name: demo\ndescription: Use it.\ndisable-model-invocation: On'),
      { hidden: true },
      ['VT_SKILL_KEY 4'],
    ],
    [
      'with a description of 60 KB, which is cut',
      block(`name: demo\ndescription: ${'x'.repeat(60_000)}`),
      { description: `${'x'.repeat(1023)}…` },
      ['VT_SKILL_MENDED 3'],
    ],
    [
      'with a long description, which is cut',
      block(`name: demo\ndescription: ${'é'.repeat(2000)}`),
      { description: `${'é'.repeat(1023)}…` },
      ['VT_SKILL_MENDED 3'],
    ],
    [
      'with invisible characters in the description, which go',
      block('name: demo\ndescription: "Use\\u200b\\u202e it\\u001b[31m."'),
      { description: 'Use it[31m.' },
    ],
    [
      'with keys of JavaScript objects',
      block('name: demo\ndescription: Use it.\nmetadata:\n  __proto__: x\n  constructor: y'),
      { name: 'demo' },
    ],
  ]
  it.each(used)('reads front matter %s', (_, text, expected, diagnostics = []) => {
    const { skill, body, found } = read(text)
    expect(skill).toMatchObject(expected)
    expect(body).toBe(body && 'Body.\n')
    expect(found).toEqual(diagnostics)
  })

  const nested = (open: string, shut: string) => `${open.repeat(101)}${shut.repeat(101)}`
  const refused: [title: string, text: string | Uint8Array, line: number, folder?: string][] = [
    ['that is missing', 'Just text.\n', 1],
    ['that is not closed', '---\nname: demo\ndescription: Use it.\n', 1],
    ['closed by something longer', '---\nname: demo\ndescription: Use it.\n----\n', 1],
    ['opened by something longer', '----\nname: demo\ndescription: Use it.\n---\n', 1],
    ['that names a language', '---js\n({ name: (globalThis.ran = 1) })\n---\n', 1],
    ['that names JavaScript in full', '---JavaScript\n({ name: (globalThis.ran = 1) })\n---\n', 1],
    ['that names a property of every object', '---constructor\nname: demo\n---\n', 1],
    ['indented by tabs', block('name: demo\ndescription: Use it.\nmetadata:\n\ta: b'), 5],
    ['with a key twice', block('name: demo\ndescription: Use it.\nname: demo'), 4],
    ['that is a list', block('- name: demo'), 2],
    ['that is a word', block('demo'), 2],
    ['that is empty', block(''), 2],
    ['without a description', block('name: demo'), 2],
    ['with an empty description', block('name: demo\ndescription: ""'), 3],
    ['with a line of hyphens and more inside', block('name: demo\ndescription: Use it.\n---x: y'), 4],
    ['with a name that climbs', block('name: ../x\ndescription: Use it.'), 2],
    ['with a name that is a path', block('name: a/b\ndescription: Use it.'), 2],
    ['with a NUL', block('name: de\0mo\ndescription: Use it.'), 2],
    ['with a name that runs backwards', block('name: "de\\u202emo"\ndescription: Use it.'), 2],
    ['with a name of zero width', block('name: "de\\u200bmo"\ndescription: Use it.'), 2],
    ['with the name of a device', block('name: CON\ndescription: Use it.'), 2],
    ['with no usable name at all', block('name: A B\ndescription: Use it.'), 2, 'Also Wrong'],
    [
      'that is not UTF-8',
      Buffer.concat([Buffer.from('---\nname: demo\ndescription: '), Buffer.from([0xff, 0xfe]), Buffer.from('\n---\n')]),
      1,
    ],
    ['of 5 MB', Buffer.alloc(5_000_000, block('name: demo\ndescription: Use it.')), 1],
    ['nested too deeply', block(`name: demo\ndescription: Use it.\nmetadata: ${nested('[', ']')}`), 2],
    [
      'that multiplies itself',
      block(`a: &a [${Array(400).fill('x').join()}]\nb: [${Array(64).fill('*a').join()}]\nname: demo\ndescription: x`),
      2,
    ],
  ]
  it.each(refused)('refuses front matter %s', (_, text, line, folder) => {
    const { skill, found } = read(text, folder)
    expect(skill).toBeUndefined()
    expect(found).toEqual([`VT_SKILL_INVALID ${line}`])
    expect(globalThis).not.toHaveProperty('ran')
  })
})

describe('hostile front matter', () => {
  const times = (count: number, make: (i: number) => string, between = '\n') =>
    Array.from({ length: count }, (_, i) => make(i)).join(between)
  const blocks: [title: string, text: string, usable: boolean][] = [
    ['globs that multiply in paths', `paths: "${'{a,b}'.repeat(300)}"`, true],
    ['globs of a hundred pairs of braces', `paths: "${'{a,b}'.repeat(100)}"`, true],
    ['an expression in triggers', 'triggers: "a*a*$"', true],
    ['thousands of keys', times(13_000, (i) => `k${i}:`), false],
    ['thousands of keys in one line', `a: {${times(13_000, (i) => `k${i}`, ',')}}`, false],
    ['thousands of blank lines', `a: >-\n${'  \n'.repeat(20_000)}`, false],
    ['thousands of parentheses in allowed-tools', `allowed-tools: ${'x('.repeat(30_000)}`, true],
    ['thousands of quotes', `a: "${'" '.repeat(30_000)}`, false],
    ['hundreds of keys of its own', times(500, (i) => `k${i}: v`), true],
  ]
  it.each(blocks)('reads hostile front matter in little time and memory: %s', (_, text, usable) => {
    const began = performance.now()
    const { skill, diagnostics } = parseSkill(
      Buffer.from(`---\nname: demo\ndescription: Use it.\n${text}\n---\n`),
      '/s/demo/SKILL.md',
    )
    expect(skill !== undefined).toBe(usable)
    expect(diagnostics.length).toBeLessThan(25)
    expect(performance.now() - began).toBeLessThan(20_000)
  })
})

describe('places of skills', () => {
  it('finds skills in workspace, user folders, settings, plugins and the program, in this order', async () => {
    const { root, home } = workspace
    await put(join(home, 'more/first/SKILL.md'), front('first'))
    for (const place of ['.agents', '.vtcode', '.claude']) {
      await put(
        join(root, place, `skills/ws${place.replace('.', '-')}/SKILL.md`),
        front(`ws${place.replace('.', '-')}`),
      )
      await put(
        join(home, place, `skills/my${place.replace('.', '-')}/SKILL.md`),
        front(`my${place.replace('.', '-')}`),
      )
    }
    await put(
      join(home, '.vtcode/plugins/acme/vtcode.yaml'),
      'name: acme_hello\ndescription: Say hello.\nrun: [echo, hello]\n',
    )
    await put(join(home, '.vtcode/plugins/acme/skills/deep/er/helpful/SKILL.md'), front('helpful'))
    const found = (await kernel({ skills: { roots: ['~/more'] } })).inspection
      .skills()
      .all.map(({ id, scope }) => `${id} ${scope}`)
    expect(found.slice(0, 8)).toEqual([
      'root1:first user',
      'workspace:ws-agents workspace',
      'workspace:ws-vtcode workspace',
      'workspace:ws-claude workspace',
      'user:my-vtcode user',
      'user:my-agents user',
      'user:my-claude user',
      'acme:helpful user',
    ])
    expect(found).toContain('builtin:debugging bundled')
    const without = (await kernel({ skills: { claude_folders: false } })).inspection.skills().all.map(({ id }) => id)
    expect(without.filter((id) => id.endsWith('-claude'))).toEqual([])
  })

  it('finds skills from the working folder up to the root, with the folder in their qualified names', async () => {
    const { root } = workspace
    await put(join(root, 'apps/web/.agents/skills/near/SKILL.md'), front('near'))
    await put(join(root, '.agents/skills/near/SKILL.md'), `${front('near')}Other.\n`)
    const script = `import { createKernel } from 'vtcode'; const k = await createKernel({ workspace: ${JSON.stringify(root)}, home: '/nowhere', env: {} })
      console.log(JSON.stringify(k.inspection.skills().all.filter((s) => s.layer === 'workspace').map((s) => [s.id, s.state]))); await k.close()`
    const entry = new URL('../../../dist/core/index.js', import.meta.url).href
    const args = ['--input-type=module', '-e', script.replace("'vtcode'", JSON.stringify(entry))]
    const out = execFileSync(process.execPath, args, { cwd: join(root, 'apps/web'), encoding: 'utf8' })
    expect(JSON.parse(out)).toEqual([
      ['workspace/apps/web:near', 'active'],
      ['workspace:near', 'shadowed'],
    ])
  })

  it('reports unusable skill folders with the reason and finds the others', async () => {
    const at = (name: string) => join(workspace.root, '.agents/skills', name, 'SKILL.md')
    await put(at('good'), front('good'))
    await put(at('broken'), '---\nname: broken\n')
    await put(at('huge'), Buffer.alloc(100_000_000, 'x'))
    await put(at('talkative'), front('talkative', `license: ${'x'.repeat(1_000_000)}\n`))
    await put(join(workspace.home, 'out/SKILL.md'), front('out'))
    await mkdir(dirname(at('linked')), { recursive: true })
    await symlink(join(workspace.home, 'out/SKILL.md'), at('linked'))
    await symlink(join(workspace.home, 'out'), dirname(at('away')))
    await mkdir(dirname(at('pipe')))
    execFileSync('mkfifo', [at('pipe')])
    await put(join(workspace.root, '.agents/skills/lower/skill.md'), front('lower'))
    await put(join(workspace.root, '.agents/skills/node_modules/dep/SKILL.md'), front('dep'))
    await put(join(workspace.root, '.agents/skills/good/inner/SKILL.md'), front('inner'))
    const { all, skipped } = (await kernel()).inspection.skills()
    expect(all.filter(({ layer }) => layer === 'workspace').map(({ name }) => name)).toEqual(['good', 'lower'])
    const reasons = skipped.map(({ path, reason }) => `${path.split('/skills/').at(-1)} ${reason}`).sort()
    expect(reasons).toEqual([
      expect.stringMatching(/^away The link leads out/),
      expect.stringMatching(/^broken\/SKILL\.md:1 .*not closed/),
      expect.stringMatching(/^huge\/SKILL\.md .*larger than 1024 KiB/),
      expect.stringMatching(/^linked\/SKILL\.md The link leads out/),
      expect.stringMatching(/^pipe\/SKILL\.md .*not a regular file/),
      expect.stringMatching(/^talkative\/SKILL\.md:1 .*not closed within 64 KiB/),
    ])
  })

  it('limits depth and number of skills and counts the rest', async () => {
    const folder = join(workspace.root, '.agents/skills')
    await put(join(folder, 'a/b/c/d/e/SKILL.md'), front('e'))
    expect(codesOf((await kernel()).inspection.skills())).toContain('VT_SKILL_LIMIT')
    for (let i = 0; i < rounds(2500, 10_000); i += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, j) => put(join(folder, `s${i + j}/SKILL.md`), front(`s${i + j}`))),
      )
    const { all, diagnostics } = (await kernel()).inspection.skills()
    expect(all.filter(({ layer }) => layer === 'workspace')).toSatisfy(
      (found: unknown[]) => found.length > 0 && found.length < 2000,
    )
    // On a slow machine time may be over first.
    expect(diagnostics.find(({ code }) => code === 'VT_SKILL_LIMIT')?.message).toMatch(
      /more than 2000 folders|more than 2 s/,
    )
    // The text for a model keeps to its budget too.
    expect((await kernel()).describe('load_skill')!.description.length).toBeLessThan(9000)
  })

  it('finds skill roots of workspace settings only inside the workspace', async () => {
    await put(join(workspace.root, 'docs/skills/kept/SKILL.md'), front('kept'))
    await put(join(workspace.home, 'elsewhere/out/SKILL.md'), front('out'))
    await workspace.write('vtcode.config.yaml', 'skills: { roots: [docs/skills, ../home/elsewhere, absent] }\n')
    const skills = (await kernel()).inspection.skills()
    expect(skills.all.filter(({ scope }) => scope !== 'bundled').map(({ id }) => id)).toEqual(['root1:kept'])
    expect(codesOf(skills)).toEqual(['VT_SKILL_ROOT', 'VT_SKILL_ROOT'])
  })

  it('searches skills again on request and reads changed ones', async () => {
    const k = await kernel()
    expect(k.inspection.skills().find('late')).toBeUndefined()
    const file = join(workspace.root, '.agents/skills/late/SKILL.md')
    await put(file, front('late'))
    expect(k.inspection.skills().find('late')).toBeUndefined()
    expect(k.inspection.skills({ fresh: true }).find('late')?.description).toBe('Use late.')
    await put(file, front('late').replace('Use late.', 'Use it.'))
    expect(k.inspection.skills({ fresh: true }).find('late')?.description).toBe('Use it.')
    await rm(file)
    expect(k.inspection.skills({ fresh: true }).find('late')).toBeUndefined()
  })
})

describe('names of skills', () => {
  it('keeps names of built-in and user skills from a workspace, and lists both with their origin', async () => {
    await put(join(workspace.root, '.agents/skills/debugging/SKILL.md'), front('debugging'))
    const skills = (await kernel()).inspection.skills()
    expect(skills.find('debugging')?.id).toBe('builtin:debugging')
    expect(skills.find('workspace:debugging')).toMatchObject({ state: 'shadowed', scope: 'workspace' })
    const { code, message, files } = skills.diagnostics.find(({ files }) => files.length === 2)!
    expect(code).toBe('VT_SKILL_SHADOWED')
    expect(message).toMatch(/'debugging' means builtin:debugging; workspace:debugging/)
    expect(files).toHaveLength(2)
    expect(skills.catalogue.filter(({ name }) => name === 'debugging').map(({ id }) => id)).toEqual([
      'builtin:debugging',
    ])
  })

  it("gives a name to the workspace's skill after consent, until one byte changes", async () => {
    const { root, home } = workspace
    const file = join(root, '.agents/skills/debugging/SKILL.md')
    await put(file, front('debugging'))
    const places = { workspace: root, home: join(home, '.vtcode'), env: {} }
    const trust = openTrust(places)
    trust.add(await listConsentItems({ ...places, user: home, trust }))
    expect((await kernel()).inspection.skills().find('debugging')?.id).toBe('workspace:debugging')
    await put(file, `${front('debugging')}More.\n`)
    expect((await kernel()).inspection.skills().find('debugging')?.id).toBe('builtin:debugging')
  })

  it('merges two places with equal files into one skill', async () => {
    for (const place of ['.agents', '.claude'])
      await put(join(workspace.root, place, 'skills/twin/SKILL.md'), front('twin'))
    const skills = (await kernel()).inspection.skills()
    expect(skills.all.filter(({ name }) => name === 'twin')).toMatchObject([
      { id: 'workspace:twin', also_at: [join(workspace.root, '.claude/skills/twin')] },
    ])
    expect(codesOf(skills)).toEqual([])
    await put(join(workspace.root, '.claude/skills/twin/extra.md'), 'x')
    expect(
      (await kernel()).inspection
        .skills()
        .all.filter(({ name }) => name === 'twin')
        .map(({ id, state }) => [id, state]),
    ).toEqual([
      ['workspace:twin', 'active'],
      ['workspace/.claude:twin', 'shadowed'],
    ])
  })
})

describe('settings of skills', () => {
  it('disables skills by settings and keeps them in the list', async () => {
    await put(join(workspace.root, '.agents/skills/demo/SKILL.md'), front('demo'))
    const states = async (skills: NonNullable<Config['skills']>) => {
      const found = (await kernel({ skills })).inspection.skills()
      return [
        found.all.find(({ id }) => id === 'workspace:demo')?.state,
        found.all.find(({ id }) => id === 'builtin:debugging')?.state,
        found.find('demo')?.id,
      ]
    }
    expect(await states({})).toEqual(['active', 'active', 'workspace:demo'])
    expect(await states({ disable: ['dem*'] })).toEqual(['inactive', 'active', undefined])
    expect(await states({ workspace: 'off' })).toEqual(['inactive', 'active', undefined])
    expect(await states({ workspace: 'trusted' })).toEqual(['untrusted', 'active', undefined])
    expect(await states({ bundled: false })).toEqual(['active', 'inactive', 'workspace:demo'])
  })

  it('pins skills to the front of the catalogue', async () => {
    await put(join(workspace.root, '.agents/skills/demo/SKILL.md'), front('demo'))
    expect((await kernel({ skills: { pin: ['debugging'] } })).inspection.skills().catalogue[0]?.name).toBe('debugging')
  })
})

describe('catalogue of skills', () => {
  it("lists skills in the tool's description, with their names as an enum while they are few", async () => {
    await put(join(workspace.root, '.agents/skills/demo/SKILL.md'), front('demo'))
    await put(
      join(workspace.root, '.agents/skills/secret/SKILL.md'),
      front('secret', 'disable-model-invocation: true\n'),
    )
    const tool = (await kernel()).describe('load_skill')!
    expect(tool.description).toContain('\n- demo: Use demo.\n')
    expect(tool.description).not.toContain('secret')
    const { name } = tool.input['properties'] as Record<string, { enum: string[] }>
    expect(name!.enum).toContain('demo')
    expect(name!.enum).not.toContain('secret')
  })

  it('shortens descriptions to the budget, then leaves skills out and counts them', async () => {
    const long = (i: number) => front(`skill-${i}`).replace('Use', `Use ${'word '.repeat(100)}`)
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => put(join(workspace.root, `.agents/skills/skill-${i}/SKILL.md`), long(i))),
    )
    const k = await kernel({ skills: { catalog_max_chars: 4000 } })
    const { description, input } = k.describe('load_skill')!
    expect(description.length).toBeLessThan(4400)
    expect(description).toMatch(/\n\d+ more: call list_skills\.$/)
    expect(
      Math.min(
        ...description
          .split('\n')
          .slice(1, -1)
          .map((line) => line.length),
      ),
    ).toBeGreaterThanOrEqual(120)
    expect((input['properties'] as Record<string, object>)['name']).not.toHaveProperty('enum')
  })

  it('omits the catalogue and load_skill where there is no skill', async () => {
    const names = (await kernel({ skills: { bundled: false } })).tools().map(({ name }) => name)
    expect(names).not.toContain('load_skill')
    expect(existsSync(join(workspace.root, '.agents'))).toBe(false)
  })
})
