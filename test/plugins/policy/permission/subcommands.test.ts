import { describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import { vtcode } from '../../../support/program.js'

const verdictOn = async ({ kernel }: Booted, command: string | string[]): Promise<string> =>
  (await kernel.explain('unified_exec', { action: 'run', command })).verdict
const deny = ['push *', 'push'].map((words) => `Bash(git ${words})`)
const boot = (): Promise<Booted> =>
  bootKernel({
    mode: 'auto',
    config: {
      sandbox: { mode: 'off' },
      policy: {
        deny: [...deny, 'Bash(npm publish *)', 'Bash(docker run *)', 'Bash(pip uninstall *)', 'Bash(gh repo delete *)'],
        commands: [{ id: 'no_delete', program: 'kubectl', verdict: 'deny', subcommands: ['delete'] }],
        allow: ['unified_exec/run'],
      },
    },
  })

describe('rules on subcommands after options of the program', () => {
  it.each([
    'git push',
    'git -C . push',
    'git -C. push origin',
    'git --no-pager -P push',
    'git --git-dir .git --work-tree=. push --force',
    'git -C "$DIR" push',
    'git -C $DIR push',
    'git --unknown value push',
    'env git --namespace x push',
    '/usr/bin/git -C x -C y push',
    'npm --registry=x publish',
    'npm --registry x publish',
    'npm --new-key x publish',
    'npm --silent publish',
    'docker -H x run image',
    'docker --tls --context=x run image',
    'pip --proxy x uninstall y',
    'gh --hostname x repo delete y',
    'kubectl -n team delete pod x',
    'kubectl --context=c --unknown v delete pod x',
    'kubectl $X delete pod x',
  ])('denies %s', async (command) => {
    await using made = await boot()
    expect(await verdictOn(made, command)).toBe('deny')
  })
  it.each([
    'git -C . status',
    'git --no-pager log push',
    'git -c color.ui=never log push',
    'git -C push status',
    'npm --silent run publish',
    'npm --registry publish view x',
    'docker --config run ps',
    'kubectl -n delete get pods',
    'kubectl get pods delete',
    'echo git -C . push',
  ])('takes no option and no value for the subcommand in %s', async (command) => {
    await using made = await boot()
    expect(await verdictOn(made, command)).toBe('run')
  })
  it('denies such a command of the command line too', async () => {
    await using made = await bootKernel({
      files: { 'vtcode.config.yaml': `policy: { deny: [${deny.map((rule) => `'${rule}'`).join(', ')}] }\n` },
    })
    const input = JSON.stringify({ action: 'run', command: 'git -C . push' })
    const { stdout, code } = await vtcode(made, ['call', 'unified_exec', '--input', input])
    expect([code, JSON.parse(stdout).error.code]).toEqual([1, 'VT_POLICY_DENIED'])
  })
})
