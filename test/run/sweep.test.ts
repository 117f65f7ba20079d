import { spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nap } from '../support/exec.js'
import { folderOfRun, sweepRun } from './sweep.mjs'

it('ends the processes of a run by their folder or their environment, and removes the folder', async () => {
  // No process has this number: it is above the highest that Linux gives.
  const run = 4_194_305
  const folder = folderOfRun(run)
  mkdirSync(join(folder, 'work'), { recursive: true })
  const [inFolder, inEnvironment] = [nap(), nap()]
  const start = (command: string, how: object) =>
    spawn('sh', ['-c', `exec ${command}`], {
      stdio: 'ignore',
      detached: true,
      env: { PATH: process.env['PATH'] },
      ...how,
    })
  const started = [
    start(inFolder, { cwd: join(folder, 'work') }),
    start(inEnvironment, { env: { PATH: process.env['PATH'], HOME: join(folder, 'home') } }),
  ]
  const signals = started.map((child) => new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal))))
  await Promise.all(started.map((child) => new Promise((resolve) => child.on('spawn', resolve))))
  const commands = await sweepRun(run)
  expect(commands).toHaveLength(2)
  expect(await Promise.all(signals)).toEqual(['SIGKILL', 'SIGKILL'])
  expect(existsSync(folder)).toBe(false)
})
