import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const tool = (run: string): string => `name: told\ndescription: Tells.\neffects: []\n${run}\n`
const says = (text: string): string => `printf ${text}\n`
const told = async (made: TempWorkspace): Promise<string> => {
  mkdirSync(join(made.home, '.vtcode'), { recursive: true })
  writeFileSync(join(made.home, '.vtcode/vtcode.config.yaml'), 'policy: { allow: [told] }\n')
  const { stdout } = await vtcode(made, ['call', 'told'])
  const result = JSON.parse(stdout) as { ok: boolean; output?: { stdout: string }; error?: { code: string } }
  return result.ok ? result.output!.stdout : result.error!.code
}

/** Ways in which a plugin starts a program from the folders that Python and git keep with their files. */
const ways: [where: string, run: string, program: string, counts?: true][] = [
  ['next to compiled modules', "run: [sh, '{$plugin_root}/__pycache__/e.sh']", '__pycache__/e.sh', true],
  [
    'next to compiled modules, further below',
    "run: [sh, '{$plugin_root}/lib/__pycache__/deep/e.sh']",
    'lib/__pycache__/deep/e.sh',
    true,
  ],
  ['by the name of a compiled module', "run: [sh, '{$plugin_root}/__pycache__/e.pyc']", '__pycache__/e.pyc'],
  ['in a repository of its own', "run: [sh, '{$plugin_root}/.git/e.sh']", '.git/e.sh'],
  [
    'in a repository of its own, by a command line',
    'run: [sh, -c, \'cd "$PLUGIN_ROOT" && . .git/hooks/e\']',
    '.git/hooks/e',
  ],
]
const files = (folder: string, run: string, program: string) => ({
  [`${folder}/vtcode.yaml`]: tool(run),
  [`${folder}/${program}`]: says('agreed'),
})

describe('programs in ignored folders of a plugin', () => {
  it.each(ways)('refuses a changed program of a workspace plugin: %s', async (_, run, program, counts) => {
    const folder = '.vtcode/plugins/p'
    await using made = await tempWorkspace(files(folder, run, program))
    await vtcode(made, ['trust', 'add', '--all'])
    if (counts) expect(await told(made)).toBe('agreed')
    await made.write(`${folder}/${program}`, says('changed'))
    expect(['VT_PLUGIN_UNTRUSTED', 'VT_TOOL_UNKNOWN']).toContain(await told(made))
  })
  it.each(ways)('refuses a changed program of an installed plugin: %s', async (_, run, program, counts) => {
    await using made = await tempWorkspace(files('src/p', run, program))
    const { code, stderr } = await vtcode(made, ['plugins', 'add', 'src/p', '--yes'])
    // A repository is not installed with its plugin, so what lies in one can only come later.
    if (code !== 0) return expect(stderr).toContain(`starts ${program}, which`)
    if (counts) expect(await told(made)).toBe('agreed')
    const file = join(made.home, '.vtcode/plugins/p', program)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, says('changed'), { mode: 0o755 })
    expect(await told(made)).toMatch(/^VT_(?:PLUGIN_LOCK|MANIFEST_LIMIT)$/)
  })
  it('refuses a changed program that a link names', async () => {
    await using made = await tempWorkspace({
      '.vtcode/plugins/p/vtcode.yaml': tool("run: [sh, '{$plugin_root}/e.sh']"),
      '.vtcode/plugins/p/.git/e.sh': says('agreed'),
    })
    symlinkSync('.git/e.sh', join(made.root, '.vtcode/plugins/p/e.sh'))
    await vtcode(made, ['trust', 'add', '--all'])
    await made.write('.vtcode/plugins/p/.git/e.sh', says('changed'))
    expect(['VT_PLUGIN_UNTRUSTED', 'VT_TOOL_UNKNOWN']).toContain(await told(made))
  })
  it('asks for no new consent when an unused repository or compiled module changes', async () => {
    await using made = await tempWorkspace({
      '.vtcode/plugins/p/vtcode.yaml': tool("run: [sh, '{$plugin_root}/e.sh']"),
      '.vtcode/plugins/p/e.sh': says('agreed'),
      '.vtcode/plugins/p/.git/HEAD': 'ref: refs/heads/main\n',
    })
    await vtcode(made, ['trust', 'add', '--all'])
    await made.write('.vtcode/plugins/p/.git/HEAD', 'ref: refs/heads/other\n')
    await made.write('.vtcode/plugins/p/__pycache__/words.cpython-312.pyc', 'compiled')
    expect(await told(made)).toBe('agreed')
  })
})
