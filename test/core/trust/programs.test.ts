import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const tool = (run: string): string => `name: told\ndescription: Tells.\neffects: [read]\n${run}\n`
const server = (body: string): string => `mcp: { servers: { s: ${body} } }\n`
const hook = (command: string): string =>
  `hooks: { PreToolUse: [{ hooks: [{ command: ${JSON.stringify(command)} }] }] }\n`

/** Settings and manifests that start a program of the workspace, and the file that the program runs. */
const commands: [how: string, settings: string, manifest: string | undefined, file: string][] = [
  [
    'a shell with two commands',
    'manifests: [builtin, ./tools]\n',
    tool('run: [sh, -c, "sh tools/e.sh&&true"]'),
    'tools/e.sh',
  ],
  [
    'quotes in the middle of a name',
    'manifests: [builtin, ./tools]\n',
    tool('run: [sh, -c, \'sh tools/"e".sh\']'),
    'tools/e.sh',
  ],
  [
    'a name with a space',
    'manifests: [builtin, ./tools]\n',
    tool('run: [sh, -c, "sh \'tools/a b.sh\'"]'),
    'tools/a b.sh',
  ],
  ['a redirection', hook('sh <tools/e.sh'), undefined, 'tools/e.sh'],
  ['a group', hook('(sh tools/e.sh)'), undefined, 'tools/e.sh'],
  ['a substitution', hook('echo $(sh tools/e.sh)'), undefined, 'tools/e.sh'],
  ['a working folder', server('{ command: node, args: [server.js], cwd: sub }'), undefined, 'sub/server.js'],
  [
    'a variable for the working folder',
    server("{ command: node, args: ['${PWD}/sub/server.js'] }"),
    undefined,
    'sub/server.js',
  ],
  ['a bare variable', hook('node $PWD/sub/server.js'), undefined, 'sub/server.js'],
  ['an option with a value', hook('node --require=./sub/lib.js -e 1'), undefined, 'sub/lib.js'],
  ['a variable that is set', hook('NODE_OPTIONS=--import=./sub/lib.js node -e 1'), undefined, 'sub/lib.js'],
]
const files = { 'tools/e.sh': 'true\n', 'tools/a b.sh': 'true\n', 'sub/server.js': '1\n', 'sub/lib.js': '1\n' }

describe('programs of a workspace', () => {
  it.each(commands)(
    'shows a file of a program in full and covers it by consent: %s',
    async (_, settings, manifest, file) => {
      await using made = await tempWorkspace({
        ...files,
        '.vtcode/config.yaml': settings.replace('./tools', '../tools'),
        ...(manifest !== undefined && { 'tools/told.yaml': manifest }),
        [file]: `marked-bytes\n${(files as Record<string, string>)[file] ?? ''}`,
      })
      expect((await vtcode(made, ['trust'])).stderr).toContain('marked-bytes')
      await vtcode(made, ['trust', 'add', '--all'])
      const states = async () =>
        (
          JSON.parse((await vtcode(made, ['trust', 'list', '--json'])).stdout) as { items: { trusted: boolean }[] }
        ).items.map(({ trusted }) => trusted)
      expect(await states()).not.toContain(false)
      await made.write(file, 'changed\n')
      expect(await states()).toContain(false)
    },
  )
  it('lists a program outside of its plugin as not covered', async () => {
    await using made = await tempWorkspace({ ...files, '.vtcode/plugins/p/vtcode.yaml': tool('run: [sh, tools/e.sh]') })
    const { stdout } = await vtcode(made, ['trust', 'list'])
    expect(stdout).toContain('It starts `sh tools/e.sh` (none of its files is covered).')
  })
  it('reports in the question and in the list which parts of a program consent cannot cover', async () => {
    const skill = {
      '.vtcode/skills/s/SKILL.md': '---\nname: s\ndescription: Does.\n---\nDo.\n',
      '.vtcode/skills/s/vtcode.yaml': tool('run: [make, all]\nenv: { KEY: { env: MY_KEY } }'),
    }
    await using made = await tempWorkspace({
      ...files,
      ...skill,
      '.vtcode/config.yaml': `${hook('npm run lint')}${server('{ command: sh, args: ["-c", "sh $X/e.sh tools/e.sh"] }')}`,
    })
    for (const argv of [['trust'], ['trust', 'list']]) {
      const { stdout, stderr } = await vtcode(made, argv)
      expect(`${stdout}${stderr}`).toContain('It starts `npm run lint` (none of its files is covered).')
      expect(`${stdout}${stderr}`).toContain('It starts `make all` (none of its files is covered).')
      expect(`${stdout}${stderr}`).toContain('It passes MY_KEY of your environment to the program `make all`.')
      expect(`${stdout}${stderr}`).toContain('It starts `sh -c sh $X/e.sh tools/e.sh` (covered: tools/e.sh).')
      expect(`${stdout}${stderr}`).toContain('Programs and files that it uses in turn cannot be listed.')
    }
  })
})

describe('servers of a workspace', () => {
  it('names the environment variables sent to a server, and the host, in the question and in the list', async () => {
    const settings = server('{ url: "https://one.example/mcp", headers: { x-key: { env: MY_KEY } } }')
    const servers = {
      two: { url: 'https://two.example/mcp?k=${MY_TOKEN}', headers: { Authorization: 'Bearer ${MY_KEY:-none}' } },
      three: { url: 'https://three.example/mcp' },
    }
    await using made = await tempWorkspace({
      '.vtcode/config.yaml': settings,
      '.mcp.json': JSON.stringify({ mcpServers: servers }),
    })
    for (const argv of [['trust'], ['trust', 'list']]) {
      const { stdout, stderr } = await vtcode(made, argv)
      const told = `${stdout}${stderr}`
      expect(told).toContain('It sends MY_KEY of your environment to one.example.')
      expect(told).toContain('It sends MY_TOKEN, MY_KEY of your environment to two.example.')
      expect(told).not.toMatch(/to three\.example/)
    }
  })
})

describe('vtcode trust', () => {
  it('shows every byte of large files and folders, and binary files by their hash', async () => {
    const long = `${'x'.repeat(70)}\n`.repeat(20_000)
    await using made = await tempWorkspace({
      '.vtcode/plugins/p/vtcode.yaml': tool('module: ./main.js'),
      '.vtcode/plugins/p/main.js': `//${long}\nthe-last-line()\n`,
      '.vtcode/plugins/p/lib/deep.js': 'deep-bytes()\n',
    })
    writeFileSync(join(made.root, '.vtcode/plugins/p/data.bin'), Buffer.from([0, 255, 1]))
    symlinkSync('main.js', join(made.root, '.vtcode/plugins/p/link'))
    mkdirSync(dirname(join(made.home, 'x')), { recursive: true })
    const { stderr } = await vtcode(made, ['trust'])
    expect(stderr.length).toBeGreaterThan(long.length)
    for (const text of ['the-last-line()', 'deep-bytes()', '(binary: 3 bytes, sha256-', '(a link to main.js)'])
      expect(stderr).toContain(text)
  })
})
