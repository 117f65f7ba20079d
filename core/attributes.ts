import { spawn } from 'node:child_process'

// Node has no call for extended attributes and access lists. GNU's `cp` has them, on Linux, for the price of a process.
let able = process.platform === 'linux'

/**
 * Gives the open file `to` the mode, the access list and the extended attributes of the open file `from`. `false` if some could not
 * be carried over; where the system has no program that can, nothing is done and nothing is known.
 */
export async function copyAttributes(from: number, to: number): Promise<boolean> {
  if (!able) return true
  const { code, said } = await run(from, to)
  if (code === 0) return true
  able = code !== undefined && !/(unrecogni[sz]ed|invalid|unknown) option/.test(said)
  return !able
}

function run(from: number, to: number): Promise<{ code?: number | null; said: string }> {
  return new Promise((resolve) => {
    let said = ''
    const child = spawn('cp', ['--attributes-only', '--preserve=mode,xattr', '--', '/proc/self/fd/3', '/proc/self/fd/4'], {
      stdio: ['ignore', 'ignore', 'pipe', from, to],
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    })
    child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.once('error', () => resolve({ said }))
    child.once('close', (code) => resolve({ code, said }))
  })
}
