import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { eventually, nap, processesWith } from '../../support/exec.js'

const door = fileURLToPath(new URL('../../../build/core/system/index.js', import.meta.url))
/** A program that starts children by our door, says what the script prints, and is then busy for ever. */
const owner = (
  script: string,
): string => `import { endWithParent, noteLeaderExit, signalGroup, spawnProgram, watchGroup } from ${JSON.stringify(door)}
  const go = (text, lifetime) => spawnProgram({ file: '/bin/bash', args: ['-c', text], cwd: '/', env: { PATH: '/usr/bin:/bin' } }, 'ignore', lifetime)
  ${script}`
const busy = "setTimeout(() => { process.stdout.write('up\\n'); setTimeout(() => { for (;;); }, 20) }, 300)"

async function killed(script: string): Promise<void> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', owner(script)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  await new Promise((resolve) => setTimeout(resolve, 100))
  child.kill('SIGKILL')
  await once(child, 'exit')
}
const words = (command: string): string => command.replace(' ', '\0')

describe('process groups', () => {
  it('ends started programs after SIGKILL: those ignoring signals, job control groups and orphans', async () => {
    const [ignoring, jobs, left] = [nap(), nap(), nap()]
    await killed(
      `go('trap "" TERM HUP; ${ignoring} & wait; ${ignoring}'); go('set -m; ${jobs} & ${jobs}'); go('${left} & exit 0'); go('while :; do :; done # ${words(left).slice(-9)}'); ${busy}`,
    )
    for (const each of [ignoring, jobs, left])
      expect(await eventually(() => processesWith(words(each)).length === 0), each).toBe(true)
    expect(await eventually(() => processesWith(left.slice(-9)).length === 0)).toBe(true)
  })

  it('restarts a killed watcher with the whole list when the next program starts', async () => {
    const [one, two] = [nap(), nap()]
    await killed(`go('${one}; true'); const all = await import('node:fs'); const { execFileSync } = await import('node:child_process')
      execFileSync('pkill', ['-KILL', '-P', String(process.pid), '-f', 'while read -r sign'])
      const left = () => { try { return execFileSync('pgrep', ['-P', String(process.pid), '-f', 'while read -r sign']) } catch { return undefined } }
      while (left()) await new Promise((resolve) => setTimeout(resolve, 20))
      await new Promise((resolve) => setTimeout(resolve, 20)); go('${two}; true'); ${busy}`)
    for (const each of [one, two])
      expect(await eventually(() => processesWith(words(each)).length === 0), each).toBe(true)
  })

  it('spares programs of the user and a reused process number', async () => {
    const [own, other, ours] = [nap(), nap(), nap()]
    // The group ends unseen and its number goes to another process: the list holds another start time.
    const wrong = `const other = go('${other}; true', 'own'); const fs = await import('node:fs'); const read = fs.default.readFileSync
      const { syncBuiltinESMExports } = await import('node:module')
      fs.default.readFileSync = (path, how) => read(path, how).toString('latin1').replace(/(\\) (?:\\S+ ){19})\\d+/, '$11')
      syncBuiltinESMExports(); watchGroup(other.pid); fs.default.readFileSync = read; syncBuiltinESMExports()
      go('${own}; true', 'own'); go('${ours}; true'); ${busy}`
    await killed(wrong)
    expect(await eventually(() => processesWith(words(ours)).length === 0)).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 700))
    await eventually(() => [own, other].every((each) => processesWith(words(each)).length === 1))
    const [first, second] = [processesWith(words(own)), processesWith(words(other))]
    for (const pid of [...first, ...second]) process.kill(pid, 'SIGKILL')
    expect([first.length, second.length]).toEqual([1, 1])
  })

  it('lets a program end while its watcher exists, and ends the watcher with it', async () => {
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', owner("const one = go('sleep 0.2'); one.unref(); console.log(process.pid)")],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [pid] = await once(child.stdout, 'data')
    const mine = processesWith('while read -r sign').filter((watcher) =>
      new RegExp(`\\) \\S ${Number(String(pid))} `).test(statOf(watcher)),
    )
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await eventually(() => mine.every((watcher) => !/while read/.test(commandOf(watcher))))).toBe(true)
  })
})

const statOf = (pid: number): string => textOf(`/proc/${pid}/stat`)
const commandOf = (pid: number): string => textOf(`/proc/${pid}/cmdline`)
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
