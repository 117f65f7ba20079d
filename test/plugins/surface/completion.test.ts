import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { lacks } from '../../support/exec.js'
import type { Home } from '../../support/peer.js'
import { bin, surroundings, vtcode } from '../../support/program.js'
import { typing } from '../../support/terminal.js'

const words = async (...said: string[]): Promise<string[]> => {
  await using made = await tempWorkspace()
  const { code, stdout } = await vtcode(made, ['completion', '--complete', '--', ...said])
  expect(code).toBe(0)
  return stdout.split('\n').filter(Boolean)
}

describe('vtcode completion', () => {
  it.each<[string[], string[], string[]]>([
    [['ex'], ['exec'], ['call']],
    [['--mode', ''], ['plan', 'full-auto'], ['exec']],
    [['--mode', 'plan', 'to'], ['tools', 'tour'], ['exec']],
    [['--wo'], ['--workspace'], ['--mode']],
    [['help', 'se'], ['sessions', 'setup'], ['exec']],
    [['call', 'unified_'], ['unified_file', 'unified_search', 'unified_exec'], ['apply_patch']],
    [['call', '--j'], ['--json'], ['--text']],
    [['call', '--json', 'unified_file', 're'], ['read'], ['write']],
    [['call', 'unified_file', 're'], ['read'], ['write']],
    [['call', 'unified_file', 'read', '--'], ['--path', '--offset_lines', '--help'], ['--content']],
    [['call', 'unified_file', 'read', '--path', 'a', '--pa'], ['--page_size_lines'], ['--path']],
    [['call', 'unified_search', 'structural', '--workflow', ''], ['query', 'rewrite'], ['--path']],
    [['call', 'apply_patch', '--'], ['--input'], ['read']],
    [['exec', '--'], ['--json', '--verify', '--model'], ['exec']],
    [['sessions', ''], ['list', 'show', 'adopt'], ['exec']],
    [['skills', 'show', 'ast'], ['ast-grep'], ['exec']],
    [['tools', 'unified_file/'], ['unified_file/read'], ['unified_search/grep']],
    [['completion', ''], [], ['exec']],
  ])('completes %j with %j', async (said, some, not) => {
    const found = await words(...said)
    expect(found).toEqual(expect.arrayContaining(some))
    for (const one of not) expect(found).not.toContain(one)
  })

  it('offers no word with a meaning to a shell, and runs no verb of a plugin', async () => {
    await using made = await tempWorkspace()
    await made.write(
      '../home/mine/evil.yaml',
      'name: evil\nkind: surface\nverb: evil\ndescription: Leaves a file.\nmodule: ./evil.js\n',
    )
    await made.write(
      '../home/mine/evil.js',
      "import { writeFileSync } from 'node:fs'\nexport default async (kernel, argv, io) => (writeFileSync('pwned', ''), io.stdout.write('--$(touch${IFS}pwned)\\n'), 0)\n",
    )
    const flags = ['-c', `manifests=["builtin","${made.home}/mine"]`]
    const { stdout } = await vtcode(made, [...flags, 'completion', '--complete', '--', 'evil', '--'])
    expect([stdout, await made.read('pwned')]).toEqual(['', undefined])
    expect((await vtcode(made, [...flags, 'completion', '--complete', '--', 'evi'])).stdout).toBe('evil\n')
  })

  it('lists the known shells for an unknown one', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/bash[\s\S]*zsh[\s\S]*fish/),
    })
  })

  /** Surroundings in which a shell finds the program by its name. */
  const named = (made: TempWorkspace): Record<string, string> => {
    const path = join(made.home, 'bin')
    mkdirSync(path, { recursive: true })
    symlinkSync(bin, join(path, 'vtcode'))
    return { ...surroundings(made), PATH: `${path}:${process.env['PATH']}`, TERM: 'xterm' }
  }

  it.skipIf(lacks('bash'))('works in bash', async () => {
    await using made = await tempWorkspace()
    const script =
      'eval "$(vtcode completion bash)"; COMP_WORDS=(vtcode call unified_file rea); COMP_CWORD=3; _vtcode; echo "${COMPREPLY[@]}"; COMP_WORDS=(vtcode ""); COMP_CWORD=1; _vtcode; echo "${#COMPREPLY[@]}"'
    const [actions, verbs] = execFileSync('bash', ['-c', script], {
      cwd: made.root,
      env: named(made),
      encoding: 'utf8',
    }).split('\n')
    expect(actions).toBe('read')
    expect(Number(verbs)).toBeGreaterThan(20)
  })

  it.skipIf(lacks('fish'))('works in fish', async () => {
    await using made = await tempWorkspace()
    const script =
      'vtcode completion fish | source; complete -C "vtcode call unified_file re"; complete -C "vtcode sess"; complete -C "vtcode call unified_search structural --workflow "'
    const found = execFileSync('fish', ['-c', script], { cwd: made.root, env: named(made), encoding: 'utf8' }).split(
      '\n',
    )
    expect(found).toEqual(expect.arrayContaining(['read', 'sessions', 'query', 'rewrite']))
    expect(found).not.toContain('write')
  })

  it.skipIf(lacks('zsh'))('works in zsh, by the Tab key', async () => {
    await using made = await tempWorkspace({
      '../zsh/.zshrc': 'PS1="here> "\nautoload -Uz compinit\ncompinit -u -D\neval "$(vtcode completion zsh)"\n',
    })
    const { terminal, until, end } = await typing(
      { root: made.root, env: { ...named(made), ZDOTDIR: join(dirname(made.root), 'zsh') } } as unknown as Home,
      ['-i'],
      { program: 'zsh' },
    )
    await until('here>')
    terminal.write('echo ready\r')
    await until('\nready')
    terminal.write('vtcode call unified_file rea\t')
    await until('unified_file read')
    terminal.kill('SIGKILL')
    await end()
  })
})
