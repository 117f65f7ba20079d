import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readIdentity } from '../../../build/core/trust/index.js'
import {
  launchRun,
  RunLedger,
  readOutcome,
  createSystemdUnit,
  createLaunchAgent,
  TaskStore,
  type RunRecord,
  type ScheduledTask,
} from '../../../build/plugins/lib/schedule/index.js'
import { eventually, lacks, nap, processesWith, rounds } from '../../support/exec.js'
import { call, home, startPeer, vtcode, type Answer, type Home, type Peer } from '../../support/peer.js'
import { bin } from '../../support/program.js'

const held: AsyncDisposable[] = []
const serving: ChildProcess[] = []
afterEach(async () => {
  for (const child of serving.splice(0)) child.kill('SIGKILL')
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
const on = { automation: { scheduled_tasks: { enabled: true, max_parallel: 2 } }, sandbox: { mode: 'off' } }
async function scene(
  script: Parameters<typeof startPeer>[0],
  settings: object = on,
): Promise<{ peer: Peer; place: Home; store: TaskStore }> {
  const peer = await startPeer(script)
  held.push(peer)
  const place = await home(peer, {}, { settings })
  held.push(place)
  return { peer, place, store: new TaskStore(join(place.home, '.vtcode')) }
}
const schedule = (place: Home, ...argv: string[]) => vtcode(place, ['schedule', ...argv])
const added = async (place: Home, ...argv: string[]): Promise<any> =>
  JSON.parse((await schedule(place, 'create', '--every', '1h', ...argv)).out)
const taskIn = ({ root }: Pick<Home, 'root'>, more: Partial<ScheduledTask> = {}): Omit<ScheduledTask, 'v' | 'id'> => {
  const now = Date.now()
  return {
    name: 'a',
    workspace: root,
    workspace_id: readIdentity(root),
    created_at: new Date(now - 1000).toISOString(),
    enabled: true,
    schedule: { type: 'one_shot', at: new Date(now + 500).toISOString() },
    action: { kind: 'reminder', message: 'tea' },
    overlap: 'skip',
    catch_up: 'one',
    catch_up_window_secs: 3600,
    timeout_secs: 60,
    jitter: false,
    mode: 'auto',
    ...more,
  }
}
/** Starts a process that serves, and collects its output. */
function serve(place: Home): ChildProcess & { said: () => string } {
  const child = spawn(process.execPath, [bin, 'schedule', 'serve', '--json'], {
    cwd: place.root,
    env: place.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  serving.push(child)
  let text = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (more: string) => (text += more))
  return Object.assign(child, { said: () => text })
}
const endOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) =>
    child.exitCode !== null || child.signalCode !== null
      ? resolve(child.exitCode)
      : child.once('exit', (code) => resolve(code)),
  )
const runsOf = (store: TaskStore, id: string): RunRecord[] =>
  new RunLedger(store, { now: Date.now, elapsed: () => performance.now() }).listRuns(id)

describe('a scheduled run', () => {
  it('runs exec in the workspace with the key of the provider, and keeps events, answer and messages', async () => {
    const { peer, place } = await scene([
      { toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'hello\n' })] },
      { content: 'It is done.' },
    ])
    const { id } = await added(place, '--prompt', '-- write a file', '--verify', 'test -f a.txt')
    const { code, out } = await schedule(place, 'run', id, '--json')
    const told = JSON.parse(out)
    expect(told).toMatchObject({ task: id, status: 'success', exit_code: 0, subtype: 'success', answer: 'It is done.' })
    expect(code).toBe(0)
    expect(await place.read('a.txt')).toBe('hello\n')
    expect(readdirSync(told.dir).sort()).toEqual(['events.jsonl', 'last-message.txt', 'run.json', 'stderr.txt'])
    expect(peer.bodies[0].messages.at(-1).content).toBe('-- write a file')
    const { runs } = JSON.parse((await schedule(place, 'runs', id)).out)
    expect(runs).toEqual([expect.objectContaining({ run: told.run, status: 'success', attempt: 1 })])
    expect(JSON.parse((await schedule(place, 'show', id)).out).state).toMatchObject({
      run_count: 1,
      last_status: 'success',
      last_run_dir: told.dir,
      owed: [],
    })
  })

  it('fails when the work failed, whatever is printed, and when the log of events is cut', async () => {
    const loop = (index: number): Answer => ({
      toolCalls: [call('unified_search', { action: 'list', path: `d${index % 2}` })],
    })
    const { place } = await scene(Array.from({ length: 40 }, (_, index) => loop(index)))
    for (const name of ['d0', 'd1']) mkdirSync(join(place.root, name))
    const { id } = await added(place, '--prompt', 'go in circles')
    const { code, out } = await schedule(place, 'run', id, '--json')
    expect(readFileSync(join(JSON.parse(out).dir, 'events.jsonl'), 'utf8')).toContain('"outcome_code":"loop_detected"')
    expect(JSON.parse(out)).toMatchObject({
      status: 'failed',
      exit_code: 1,
      subtype: expect.stringMatching(/^error_/),
      reason: expect.stringMatching(/^The run ended with error_/),
    })
    expect(code).toBe(1)
    const log = join(place.home, 'events.jsonl')
    const whole = `${JSON.stringify({ event: { type: 'thread.started' } })}\n${JSON.stringify({ event: { type: 'thread.completed', subtype: 'success' } })}\n`
    const outcomes = [whole, whole.slice(0, -1), whole.slice(0, 40), ''].map(
      (text) => (writeFileSync(log, text), readOutcome(0, log).status),
    )
    expect(outcomes).toEqual(['success', 'failed', 'failed', 'failed'])
    expect([readOutcome(1, log).status, readOutcome(0, join(place.home, 'none')).reason]).toEqual([
      'failed',
      'The event log is incomplete.',
    ])
  })

  it('refuses a missing or replaced folder, and any run where schedules are disabled', async () => {
    const { place, store } = await scene([])
    const folder = join(place.home, 'work')
    mkdirSync(folder)
    const { id } = await store.add(taskIn({ root: folder }, { action: { kind: 'prompt', prompt: 'x' } }))
    renameSync(folder, `${folder}.moved`)
    expect(JSON.parse((await schedule(place, 'run', id)).out)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^VT_SCHED_WORKSPACE: Folder '.*' not found.*--here/),
    })
    mkdirSync(folder)
    expect(JSON.parse((await schedule(place, 'run', id)).out)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^VT_SCHED_WORKSPACE: .* was replaced after the schedule was created/),
    })
    writeFileSync(join(place.home, '.vtcode/vtcode.config.json'), '{}')
    for (const words of [['run', id], ['serve']])
      expect(await schedule(place, ...words)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/VT_SCHED_DISABLED: .*\n.*automation\.scheduled_tasks\.enabled: true/),
      })
    // Settings of a repository do not count here.
    await place.write('.vtcode/vtcode.config.yaml', 'automation: { scheduled_tasks: { enabled: true } }\n')
    expect(await schedule(place, 'serve')).toMatchObject({ code: 1, err: expect.stringContaining('VT_SCHED_DISABLED') })
  })

  it('leaves no process when another run takes its place', async () => {
    const sleep = nap()
    const { place } = await scene([{ content: 'Done.' }])
    const dir = mkdtempSync(join(tmpdir(), 'vtcode-run-dir-'))
    const cancel = new AbortController()
    const run = launchRun(
      { v: 1, id: '00000000', ...taskIn(place, { action: { kind: 'prompt', prompt: 'sleep', verify: [sleep] } }) },
      { dir },
      cancel.signal,
      { home: join(place.home, '.vtcode'), env: { ...place.env } },
    )
    expect(await eventually(() => processesWith(sleep).length > 0)).toBe(true)
    cancel.abort('overlap')
    expect((await run).status).toBe('failed')
    expect(await eventually(() => processesWith(sleep).length === 0 && processesWith(dir).length === 0)).toBe(true)
    rmSync(dir, { recursive: true })
  })
})

describe('vtcode schedule serve', () => {
  it('runs due schedules, notices new ones, names the server, and ends running ones as interrupted', async () => {
    const { place, store } = await scene([])
    const child = serve(place)
    expect(await eventually(() => existsSync(join(store.state, 'serving', `${child.pid}.json`)))).toBe(true)
    expect(JSON.parse((await schedule(place, 'status')).out)).toMatchObject({
      enabled: true,
      serving: [{ pid: child.pid }],
      schedules: 0,
      running: [],
    })
    const tea = await store.add(taskIn(place))
    expect(await eventually(() => child.said().includes('"message":"tea"'))).toBe(true)
    expect(runsOf(store, tea.id)).toEqual([
      expect.objectContaining({ status: 'success', base_run_at: (tea.schedule as { at: string }).at }),
    ])
    child.kill('SIGTERM')
    await endOf(child)
    expect(JSON.parse((await schedule(place, 'status')).out).serving).toEqual([])
    expect(await vtcode(place, ['schedule', 'serve', '--once'])).toMatchObject({ code: 0, out: '' })
  })

  it(
    'runs each base time once, or again after an interruption, with two processes and a kill at any moment',
    { timeout: 1_200_000 },
    async () => {
      const [reminders, tasks] = [rounds(20, 1000), rounds(2, 40)]
      const { place, store } = await scene([])
      // Made before the time comes, however long it takes to write them all.
      const created_at = new Date().toISOString()
      const at = new Date(Date.now() + rounds(2500, 10_000)).toISOString()
      const all: ScheduledTask[] = []
      for (let index = 0; index < reminders + tasks; index += 1)
        all.push(
          await store.add(
            taskIn(place, {
              name: `t${index}`,
              created_at,
              schedule: { type: 'one_shot', at },
              ...(index % 11 === 0 && index / 11 < tasks && { action: { kind: 'prompt', prompt: 'x' } }),
            }),
          ),
        )
      const [one, two] = [serve(place), serve(place)]
      const victim = Math.random() < 0.5 ? one : two
      const begun = (): number => all.filter(({ id }) => runsOf(store, id).length > 0).length
      expect(await eventually(() => begun() > Math.random() * all.length * 0.6)).toBe(true)
      victim.kill('SIGKILL')
      // A living server searches for dead ones every half minute; a new one finds them at once.
      const third = serve(place)
      const settled = (): boolean =>
        all.every(
          ({ id }) => runsOf(store, id).length > 0 && runsOf(store, id).every(({ status }) => status !== undefined),
        ) && !readdirSync(join(store.state, 'claims')).some((name) => name.endsWith('.json'))
      expect(await eventually(settled, rounds(240_000, 900_000)), third.said()).toBe(true)
      await new Promise((resolve) => setTimeout(resolve, 300))
      const wrong = all.flatMap(({ id, name }) => {
        const runs = runsOf(store, id)
          .reverse()
          .map(
            ({ status, attempt, base_run_at }) =>
              `${attempt} ${status === 'interrupted' ? status : 'ended'}${base_run_at === at ? '' : ` at ${base_run_at}`}`,
          )
        return ['1 ended', '1 interrupted,2 ended'].includes(runs.join()) ? [] : [`${name}: ${runs.join()}`]
      })
      expect(wrong).toEqual([])
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    },
  )
})

describe('the scheduler service', () => {
  it('shows the service file of the user, starts nothing, and keeps a foreign file', async () => {
    const { place } = await scene([])
    const { code, out } = await schedule(place, 'install-service')
    expect(code).toBe(0)
    const { file, text, enable } = JSON.parse(out)
    expect(file).toBe(join(place.home, '.config/systemd/user/vtcode-scheduler.service'))
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(text).toContain(
      `ExecStart="${process.execPath}" "${bin}" "--workspace" "${join(place.home, '.vtcode/scheduled_tasks')}" "schedule" "serve"\n`,
    )
    expect(text).toMatch(/Type=exec\n[^]*Restart=on-failure\nNoNewPrivileges=yes\n/)
    expect(enable).toEqual([
      'systemctl --user daemon-reload',
      'systemctl --user enable --now vtcode-scheduler.service',
      'loginctl enable-linger',
    ])
    expect(JSON.parse((await schedule(place, 'uninstall-service')).out)).toMatchObject({ file })
    writeFileSync(file, '[Unit]\n')
    for (const words of ['install-service', 'uninstall-service'])
      expect(await schedule(place, words)).toMatchObject({
        code: 1,
        err: expect.stringContaining('was not written by vtcode'),
      })
    expect(readFileSync(file, 'utf8')).toBe('[Unit]\n')
  })

  it.skipIf(lacks('systemd-analyze'))(
    'writes a unit that systemd accepts, whatever characters its paths have',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'vtcode service 100% $HOME "q" '))
      const program = join(folder, 'bin %h.js')
      writeFileSync(program, '')
      const { text } = createSystemdUnit({ node: process.execPath, program, home: folder }, folder)
      const file = join(folder, 'vtcode-scheduler.service')
      writeFileSync(file, text)
      const verified = spawnSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: folder },
      })
      expect(`${verified.stdout}${verified.stderr}`).not.toMatch(
        /vtcode-scheduler\.service:\d+|not executable|Failed to resolve|bad unit|Unbalanced/i,
      )
      expect(text).toContain(`"${program.replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`)
      const { text: plist } = createLaunchAgent({ node: '/a & b', program: '<p>', home: '/h' }, '/u')
      expect(plist).toContain('<string>/a &amp; b</string>\n    <string>&lt;p&gt;</string>')
      rmSync(folder, { recursive: true })
    },
  )
})
