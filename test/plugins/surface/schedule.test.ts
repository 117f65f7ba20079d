import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { vtcode, type Ran } from '../../support/program.js'

const schedule = (made: TempWorkspace, ...argv: string[]): Promise<Ran> => vtcode(made, ['schedule', ...argv])
const off = /^vtcode: warning: Schedules are off: nothing runs\. `vtcode config set [\w.]+ true` switches them on; .*\n/
const document = ({ code, stdout, stderr }: Ran): any => (
  expect(stderr.replace(off, '')).toBe(''),
  expect(code).toBe(0),
  JSON.parse(stdout)
)
const tasksOf = (made: TempWorkspace): string => join(made.home, '.vtcode/scheduled_tasks/tasks')

describe('vtcode schedule', () => {
  it('creates, lists, shows, pauses, resumes and deletes schedules, and keeps all that are added at once', async () => {
    await using made = await tempWorkspace()
    const flags = [
      '--prompt',
      'Read the log\nand sum it up',
      '--tz',
      'Europe/Berlin',
      '--no-jitter',
      '--max-runs',
      '3',
      '--verify',
      'true',
      '--overlap',
      'queue',
      '--catch-up-window',
      '2h',
    ]
    const [one, two, three] = (
      await Promise.all([
        schedule(made, 'create', '--cron', '0 9 * * 1-5', ...flags),
        schedule(made, 'add', '--reminder', 'tea', '--every', '90m'),
        schedule(made, 'add', '--reminder', 'tea', '--at', '2099-01-01 10:00', '--tz', 'UTC'),
      ])
    ).map(document)
    expect(one).toMatchObject({
      v: 1,
      name: 'Read the log',
      workspace: made.root,
      enabled: true,
      schedule: { type: 'cron5', expression: '0 9 * * 1-5', tz: 'Europe/Berlin' },
      action: { kind: 'prompt', verify: ['true'] },
      overlap: 'queue',
      catch_up: 'one',
      catch_up_window_secs: 7200,
      timeout_secs: 7200,
      jitter: false,
      max_runs: 3,
      mode: 'auto',
    })
    expect(one.state.next_run_at).toBe(one.state.next_base_run_at)
    expect(three.state.next_base_run_at).toBe('2099-01-01T10:00:00.000Z')
    expect(
      document(await schedule(made, 'list'))
        .map(({ id }: { id: string }) => id)
        .sort(),
    ).toEqual([one.id, two.id, three.id].sort())
    // The other schedule may run between two of these, by the time of day.
    const next: { id: string; at: string }[] = document(await schedule(made, 'next', '--count', '20'))
    const times = next.flatMap(({ id, at }) => (id === two.id ? [at] : []))
    expect(times.slice(0, 3)).toEqual(
      [0, 1, 2].map((times) => new Date(Date.parse(two.state.next_base_run_at) + times * 5_400_000).toISOString()),
    )
    expect((await schedule(made, 'list', '--text')).stdout).toMatch(
      new RegExp(`${one.id}  Read the log  0 9 \\* \\* 1-5 \\(Europe/Berlin\\) .*never ran`),
    )
    expect(document(await schedule(made, 'pause', 'Read the log'))).toMatchObject({ id: one.id, enabled: false })
    expect((await schedule(made, 'show', one.id, '--text')).stdout).toMatch(/paused +by you/)
    expect(document(await schedule(made, 'resume', one.id)).enabled).toBe(true)
    expect(await schedule(made, 'show', 'tea')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/VT_SCHED_NOT_FOUND: 2 schedules have the name 'tea'.*\n.*Use an id: /),
    })
    expect(document(await schedule(made, 'remove', two.id))).toEqual({ deleted: two.id })
    expect(await schedule(made, 'show', two.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('VT_SCHED_NOT_FOUND'),
    })
  })

  it('takes the task as a word, and states that schedules are off where they are', async () => {
    await using made = await tempWorkspace()
    const created = await schedule(made, 'create', '--every', '1h', 'water the plants')
    expect(document(created)).toMatchObject({ action: { kind: 'prompt', prompt: 'water the plants' } })
    expect(created.stderr).toMatch(off)
    expect(await vtcode(made, ['config', 'set', 'automation.scheduled_tasks.enabled', 'true'])).toMatchObject({
      code: 0,
    })
    expect(await schedule(made, 'create', '--every', '1h', 'water the plants')).toMatchObject({ code: 0, stderr: '' })
  })

  it('refuses an invalid schedule with the correction, and any schedule of an agent', async () => {
    await using made = await tempWorkspace()
    const wrong: [string[], RegExp][] = [
      [['--prompt', 'x'], /VT_SCHED_BAD_EXPRESSION: No time given.*\n.*--every 10m/],
      [['--prompt', 'x', '--every', '10m', '--at', '10:00'], /VT_SCHED_BAD_EXPRESSION: 2 times given/],
      [['--every', '10m'], /VT_SCHED_BAD_EXPRESSION: No task given/],
      [['--every', '10m', '--prompt', 'x', 'y'], /VT_SCHED_BAD_EXPRESSION: More than one task given/],
      [['--every', '10m', '--reminder', 'x', 'y'], /VT_SCHED_BAD_EXPRESSION: More than one task given/],
      [['--prompt', `use ghp_${'a'.repeat(36)}`, '--every', '10m'], /VT_SCHED_SECRET: .*\n.*environment variable/],
      [['--prompt', 'x', '--name', `ghp_${'a'.repeat(36)}`, '--every', '10m'], /VT_SCHED_SECRET/],
      [['--prompt', 'x', '--verify', `echo ghp_${'a'.repeat(36)}`, '--every', '10m'], /VT_SCHED_SECRET/],
      [
        ['--prompt', 'x', '--cron', '60 * * * *'],
        /VT_SCHED_BAD_EXPRESSION: Invalid schedule '60 \* \* \* \*'.*minute: 60.*\n.*0 9 \* \* 1-5/,
      ],
      [
        ['--prompt', 'x', '--cron', '@daily', '--tz', 'Mars/Olympus'],
        /VT_SCHED_BAD_EXPRESSION: Unknown time zone 'Mars\/Olympus'/,
      ],
      [
        ['--prompt', 'x', '--every', '10m', '--overlap', 'never'],
        /Allowed choices are skip, queue, cancel_previous, allow/,
      ],
      [['--prompt', 'x', '--every', '10m', '--timeout', 'long'], /pass a time from 1s to 7d/],
      [['--prompt', 'x', '--every', '10m', '--max-runs', '0'], /pass a whole number from 1/],
    ]
    for (const [argv, told] of wrong)
      expect(await schedule(made, 'create', ...argv), argv.join(' ')).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(told),
      })
    expect(
      await vtcode(made, ['schedule', 'create', '--prompt', 'x', '--every', '10m'], { env: { VTCODE: '1' } }),
    ).toMatchObject({ code: 1, stderr: expect.stringContaining('A command of an agent cannot change') })
    expect(document(await schedule(made, 'list'))).toEqual([])
  })

  it('takes nothing from a repository, and names invalid schedule files of the user next to valid ones', async () => {
    await using made = await tempWorkspace()
    const good = document(await schedule(made, 'create', '--reminder', 'tea', '--every', '1h'))
    const text = readFileSync(join(tasksOf(made), `${good.id}.json`), 'utf8')
    const foreign = join(made.root, '.vtcode/scheduled_tasks/tasks')
    mkdirSync(foreign, { recursive: true })
    writeFileSync(join(foreign, '12345678.json'), text.replace(good.id, '12345678'))
    const bad: Record<string, [string, RegExp]> = {
      '00000001.json': ['{', /JSON/],
      '00000002.json': [text, /the id '.*' differs from the name of the file/],
      '00000003.json': [text.replace(good.id, '00000003').replace('"mode": "auto"', '"mode": "root"'), /mode/],
      '00000004.json': [text.replace(good.id, '00000004').replace('"seconds": 3600', '"seconds": 1'), /seconds/],
      '00000005.json': ['x'.repeat(2_000_000), /larger/],
      'notes.json': ['{}', /the name of the file must be 8 hexadecimal digits/],
    }
    for (const [name, [content]] of Object.entries(bad)) writeFileSync(join(tasksOf(made), name), content)
    symlinkSync(join(foreign, '12345678.json'), join(tasksOf(made), '12345678.json'))
    const { code, stdout, stderr } = await schedule(made, 'list')
    expect(code).toBe(0)
    expect(JSON.parse(stdout).map(({ id }: { id: string }) => id)).toEqual([good.id])
    for (const [name, [, reason]] of Object.entries(bad))
      expect(
        stderr.split('\n').find((line) => line.includes(name)),
        name,
      ).toMatch(reason)
    expect(stderr.split('\n').filter(Boolean)).toHaveLength(7)
  })

  it('continues in another folder only after a resume with --here', async () => {
    await using made = await tempWorkspace()
    mkdirSync(join(made.home, 'a'))
    mkdirSync(join(made.home, 'b'))
    const at = (folder: string, ...argv: string[]): Promise<Ran> =>
      vtcode(made, ['--workspace', join(made.home, folder), 'schedule', ...argv])
    const { id } = document(await at('a', 'create', '--reminder', 'tea', '--every', '1h'))
    renameSync(join(made.home, 'a'), join(made.home, 'c'))
    expect(await schedule(made, 'resume', id)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/VT_SCHED_WORKSPACE: Folder '.*\/a' not found\.\n.*--here/),
    })
    expect(document(await at('c', 'resume', id, '--here')).workspace).toBe(join(made.home, 'c'))
    expect(readdirSync(tasksOf(made))).toEqual([`${id}.json`])
  })
})
