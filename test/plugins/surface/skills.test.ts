import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

let made: TempWorkspace
beforeEach(async () => {
  made = await tempWorkspace({
    '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use it.\nallowed-tools: Bash(rm:*)\n---\nBody.\n',
  })
})
afterEach(() => made[Symbol.asyncDispose]())

const skills = (...words: string[]) =>
  vtcode(made, ['skills', ...(words.includes('--json') ? [] : ['--text']), ...words])

describe('vtcode skills list', () => {
  it('shows name, place and state of loadable skills', async () => {
    const { code, stdout } = await skills('list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^name +qualified +state/)
    expect(stdout).toMatch(/\ndemo +workspace:demo +active +\.agents\/skills\/demo +Use it\./)
  })

  it('shows unusable skills and their reasons with --all, and mentions them without it', async () => {
    await made.write('.agents/skills/bad/SKILL.md', '---\nname: bad\n')
    await made.write('.agents/skills/debugging/SKILL.md', '---\nname: debugging\ndescription: Mine.\n---\n')
    const all = await skills('list', '--all')
    expect(all.stdout).toMatch(/invalid .*bad\/SKILL\.md:1 .*not closed/)
    expect(all.stdout).toMatch(/workspace:debugging +shadowed .*to allow that, use `vtcode trust`/)
    expect((await skills('list')).stderr).toMatch(/bad\/SKILL\.md:1 was skipped/)
    const json = JSON.parse((await skills('list', '--all', '--json')).stdout)
    expect(json.skills.find(({ id }: { id: string }) => id === 'workspace:demo')).toMatchObject({
      state: 'active',
      allowed_tools: ['Bash(rm:*)'],
    })
    expect(json.skipped).toHaveLength(1)
  })
})

describe('vtcode skills show', () => {
  it('shows everything known about a skill, and that allowed-tools grants nothing', async () => {
    const { code, stdout } = await skills('show', 'demo')
    expect(code).toBe(0)
    expect(stdout).toMatch(/allowed-tools +Bash\(rm:\*\) \(shown, never granted\)/)
    expect(await skills('info', 'demo')).toMatchObject({ code, stdout })
    expect(JSON.parse((await skills('show', 'workspace:demo', '--json')).stdout)).toMatchObject({
      name: 'demo',
      diagnostics: [],
    })
  })
  it('fails for an unknown skill, and explains why one cannot be used', async () => {
    await made.write('.agents/skills/bad/SKILL.md', '---\nname: bad\n')
    expect(await skills('show', 'bad')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/bad\/SKILL\.md:1: .*not closed/),
    })
    expect(await skills('show', 'absent')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('skills list --all'),
    })
  })
})

describe('vtcode skills validate', () => {
  const fields = (text: string) => `---\n${text}\n---\nBody.\n`
  // The words of the reference validator, as its source has them; not run against it here.
  const verdicts: [title: string, text: string | undefined, messages: string[], lines?: (number | undefined)[]][] = [
    [
      'a good one',
      fields(
        'name: demo\ndescription: Use it.\nlicense: MIT\nmetadata:\n  a: b\nallowed-tools: Read\ncompatibility: git',
      ),
      [],
    ],
    ['an empty compatibility', fields('name: demo\ndescription: Use it.\ncompatibility:'), []],
    ['CRLF line ends', fields('name: demo\ndescription: Use it.').replaceAll('\n', '\r\n'), []],
    [
      'letters of other scripts in the wrong folder',
      fields('name: 技能\ndescription: Use it.'),
      ["Directory name 'demo' must match skill name '技能'"],
      [2],
    ],
    ['no file', undefined, ['Missing required file: SKILL.md']],
    ['no front matter', 'Text.\n', ['SKILL.md must start with YAML frontmatter (---)'], [1]],
    [
      'a byte order mark',
      `\uFEFF${fields('name: demo\ndescription: x')}`,
      ['SKILL.md must start with YAML frontmatter (---)'],
      [1],
    ],
    ['front matter without end', '---\nname: demo\n', ['SKILL.md frontmatter not properly closed with ---'], [1]],
    ['hyphens inside a value, where the reference ends', fields('name: demo\ndescription: a --- b'), []],
    [
      'an unknown key',
      fields('name: demo\ndescription: x\nmodel: y\nhooks: z'),
      ["re:^Unexpected fields in frontmatter: hooks, model\\. Only \\['allowed-tools', .*'name'\\] are allowed\\.$"],
      [5],
    ],
    [
      'no name and no description',
      fields('license: MIT'),
      ['Missing required field in frontmatter: name', 'Missing required field in frontmatter: description'],
    ],
    ['an empty name', fields('name: ""\ndescription: x'), ["Field 'name' must be a non-empty string"], [2]],
    [
      'capitals',
      fields('name: Demo\ndescription: x'),
      ["Skill name 'Demo' must be lowercase", "Directory name 'demo' must match skill name 'Demo'"],
    ],
    [
      'hyphens at the ends and doubled',
      fields('name: -a--b-\ndescription: x'),
      [
        'Skill name cannot start or end with a hyphen',
        'Skill name cannot contain consecutive hyphens',
        're:Directory name.*',
      ],
    ],
    [
      'a blank in the name',
      fields('name: a b\ndescription: x'),
      ["re:Skill name 'a b' contains invalid characters.*", 're:Directory name.*'],
    ],
    [
      'a name of 65 characters',
      fields(`name: ${'a'.repeat(65)}\ndescription: x`),
      ['re:.*exceeds 64 character limit \\(65 chars\\)', 're:Directory name.*'],
    ],
    [
      'a description of 1,025 characters',
      fields(`name: demo\ndescription: ${'é'.repeat(1025)}`),
      ['Description exceeds 1024 character limit (1025 chars)'],
      [3],
    ],
    [
      'a folded description whose newline is one too many',
      fields(`name: demo\ndescription: >\n  ${'x'.repeat(1024)}`),
      ['Description exceeds 1024 character limit (1025 chars)'],
      [3],
    ],
    [
      'a compatibility of 501 characters',
      fields(`name: demo\ndescription: x\ncompatibility: ${'x'.repeat(501)}`),
      ['Compatibility exceeds 500 character limit (501 chars)'],
      [4],
    ],
    [
      'a list for compatibility',
      fields('name: demo\ndescription: x\ncompatibility:\n  - a'),
      ["Field 'compatibility' must be a string"],
      [4],
    ],
    [
      'a flow collection',
      fields('name: demo\ndescription: x\nallowed-tools: [Read]'),
      ['Invalid YAML in frontmatter: flow collections are not allowed'],
      [4],
    ],
    [
      'an anchor',
      fields('name: &a demo\ndescription: x'),
      ['Invalid YAML in frontmatter: anchors and aliases are not allowed'],
      [2],
    ],
    ['a tag', fields('name: demo\ndescription: !!str x'), ['Invalid YAML in frontmatter: tags are not allowed'], [3]],
    ['a key twice', fields('name: demo\ndescription: x\nname: demo'), ['re:Invalid YAML in frontmatter: .*'], [4]],
    [
      'a tab as indentation',
      fields('name: demo\ndescription: x\nmetadata:\n\ta: b'),
      ['re:Invalid YAML in frontmatter: .*'],
      [5],
    ],
    ['a list', fields('- name: demo'), ['SKILL.md frontmatter must be a YAML mapping'], [1]],
  ]
  it('reports the verdict of the open format, with lines', async () => {
    for (const [i, [, text]] of verdicts.entries())
      await made.write(text === undefined ? `v/${i}/demo/other.md` : `v/${i}/demo/SKILL.md`, text ?? '')
    const { code, stdout } = await skills(
      'validate',
      '--json',
      ...verdicts.map((_, i) => join(made.root, `v/${i}/demo`)),
    )
    const answers = (
      JSON.parse(stdout) as { skills: { valid: boolean; errors: { message: string; line?: number }[] }[] }
    ).skills
    expect(code).toBe(1)
    for (const [i, [title, , messages, lines]] of verdicts.entries()) {
      const { valid, errors } = answers[i]!
      expect(valid, title).toBe(messages.length === 0)
      expect(
        errors.map(({ message }) => message),
        title,
      ).toEqual(
        messages.map((text) => (text.startsWith('re:') ? expect.stringMatching(new RegExp(text.slice(3), 's')) : text)),
      )
      if (lines)
        expect(
          errors.map(({ line }) => line),
          title,
        ).toEqual(lines)
    }
  })

  it('agrees with the reference validator on published skills, and accepts each with a description for loading', async () => {
    const file = new URL('../../fixtures/published_skills.json', import.meta.url)
    const { skills: published } = JSON.parse(readFileSync(file, 'utf8')) as {
      skills: { from: string; folder: string; head: string; verdict: string[] }[]
    }
    const folders = published.map(({ folder }, i) => `v/${i}/${folder}`)
    for (const [i, { head }] of published.entries()) await made.write(`${folders[i]}/SKILL.md`, head)
    const ask = async (...flags: string[]) =>
      (
        JSON.parse(
          (await skills('validate', '--json', ...flags, ...folders.map((folder) => join(made.root, folder)))).stdout,
        ) as { skills: { valid: boolean; errors: { message: string }[] }[] }
      ).skills
    // Of YAML that cannot be read each parser says in its own words why; the list of keys is printed in two ways.
    const kind = (message: string) => message.replace(/(Invalid YAML in frontmatter|Only ).*/s, '$1')
    const [strict, lenient] = [await ask(), await ask('--lenient')]
    expect(published.length).toBeGreaterThan(80)
    for (const [i, { from, folder, head, verdict }] of published.entries()) {
      expect(strict[i]!.errors.map(({ message }) => kind(message)).sort(), `${from} ${folder}`).toEqual(
        verdict.map(kind).sort(),
      )
      if (/^---\n[\s\S]*^description:[\s\S]*^---$/m.test(head))
        expect(lenient[i]!.valid, `${from} ${folder}`).toBe(true)
    }
  })

  it('accepts the file for its folder, and names what is no folder, no file or no text', async () => {
    await made.write('v/good/SKILL.md', '---\nname: good\ndescription: Use it.\n---\n')
    await made.write('v/binary/SKILL.md', Buffer.from('---\nname: binary\ndescription: \xff\n---\n', 'latin1'))
    await made.write('v/large/SKILL.md', `---\nname: large\ndescription: Use it.\n---\n${'x'.repeat(5_000_000)}`)
    await made.write('v/dir/SKILL.md/x', '')
    mkdirSync(join(made.root, 'v/pipe'))
    execFileSync('mkfifo', [join(made.root, 'v/pipe/SKILL.md')])
    const of = async (flags: string[], name: string) =>
      (await skills('validate', ...flags, join(made.root, 'v', name))).stdout.replaceAll(`${made.root}/v/`, '')
    expect(await of([], 'good/SKILL.md')).toBe('Valid skill: good\n')
    for (const name of ['dir', 'pipe', 'absent', 'good/other']) {
      expect(await of([], name)).toMatch(new RegExp(`^${name}: error: (Missing required file|Path does not exist)`))
      expect(await of(['--lenient'], name)).toBe(`${name}: error: SKILL.md not found.\n`)
    }
    expect(await of([], 'binary')).toBe('binary: error: SKILL.md is not UTF-8\n')
    expect(await of(['--lenient'], 'binary')).toBe('binary/SKILL.md:1: error: The file is not UTF-8.\n')
    // The reference knows no limit, but a skill that cannot load is not valid.
    for (const flags of [[], ['--lenient']])
      expect(await of(flags, 'large')).toMatch(/^large\/SKILL\.md:1: error: The file is larger than 1024 KiB/)
  })

  it('reports with --lenient what loading accepts', async () => {
    await made.write('v/demo/SKILL.md', '---\nname: Demo\ndescription: Use it.\nmodel: x\n---\n')
    const folder = join(made.root, 'v/demo')
    expect(await skills('validate', folder)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /SKILL\.md:4: error: Unexpected fields.*SKILL\.md:2: error: Skill name 'Demo' must be lowercase/s,
      ),
    })
    expect(await skills('validate', '--lenient', folder)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/:2: warning: .*\n.*:4: warning: .*model.*\nValid skill/),
    })
  })
})

describe('vtcode skills create', () => {
  it('writes a valid skill, and overwrites none', async () => {
    const { code, stdout } = await skills('create', 'release-notes', '--description', 'Drafts "notes": use when asked.')
    expect(stdout).toContain('Written: ')
    expect(code).toBe(0)
    const folder = join(made.root, '.agents/skills/release-notes')
    expect(await skills('validate', folder)).toMatchObject({ code: 0 })
    expect((await skills('show', 'release-notes')).stdout).toContain('Drafts "notes": use when asked.')
    expect(await skills('create', 'release-notes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already'),
    })
  })
  it('refuses an invalid name, and leaves nothing of a skill that cannot be valid', async () => {
    for (const name of ['../x', 'A', 'a--b', 'x'.repeat(65)])
      expect(await skills('create', name)).toMatchObject({ code: 2 })
    expect(await skills('create', 'con')).toMatchObject({ code: 1, stderr: expect.stringContaining('reserved') })
    // Here node's own way to make folders with their parents never ends.
    if (existsSync('/proc/self'))
      expect(await skills('create', 'new', '--dir', '/proc')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('cannot be written'),
      })
    expect(await skills('create', 'too-long', '--description', 'x'.repeat(1025))).toMatchObject({ code: 1 })
    expect(readdirSync(join(made.root, '.agents/skills'))).toEqual(['demo'])
    expect(existsSync(join(made.root, 'x'))).toBe(false)
  })
})

describe('vtcode skills prompt', () => {
  it('writes the block of the reference implementation, escaped as HTML', async () => {
    await made.write('p/quoted/SKILL.md', '---\nname: quoted\ndescription: Use "it" & <that>, it\'s fine.\n---\n')
    const folder = join(made.root, 'p/quoted')
    expect((await skills('prompt', folder)).stdout).toBe(
      '<available_skills>\n<skill>\n<name>\nquoted\n</name>\n<description>\nUse &quot;it&quot; &amp; &lt;that&gt;, it&#x27;s fine.\n</description>\n' +
        `<location>\n${join(folder, 'SKILL.md')}\n</location>\n</skill>\n</available_skills>\n`,
    )
    expect((await skills('prompt')).stdout).toBe('<available_skills>\n</available_skills>\n')
    expect(await skills('prompt', join(made.root, 'p'))).toMatchObject({ code: 1 })
  })
})

describe('vtcode doctor', () => {
  it('names unusable skills with file and line', async () => {
    await made.write('.agents/skills/bad/SKILL.md', '---\nname: bad\n---\n')
    const { stdout } = await vtcode(made, ['doctor'])
    expect(stdout).toMatch(/skills +9 found, 9 active/)
    expect(stdout).toMatch(/VT_SKILL_INVALID.*no description\.\n +where .*bad\/SKILL\.md:2/)
  })
})

describe('vtcode skills', () => {
  it('prints usage for a wrong call', async () => {
    expect(await skills('--help')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage:/) })
    for (const words of [['lisst'], ['info'], ['list', '--wrong'], ['create']])
      expect(await skills(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage:') })
  })
})
