import { findProgram, spawnProgram } from '../system/index.js'

// Node has no call for extended attributes and access lists. GNU's `cp` copies them on Linux, for the price of a
// process. PATH may name a folder of the workspace, so only system folders are searched.
let cp =
  process.platform === 'linux' ? findProgram('cp', ['/usr/bin', '/bin', '/run/current-system/sw/bin']) : undefined

/**
 * Copies mode, access list and extended attributes from one open file to another. Returns `false` if some were lost.
 * Without such a program it does nothing and returns `true`.
 */
export async function copyAttributes(from: number, to: number): Promise<boolean> {
  if (cp === undefined) return true
  const { code, stderr } = await runCp(cp, from, to)
  if (code === 0) return true
  if (code === undefined || /(unrecogni[sz]ed|invalid|unknown) option/.test(stderr)) cp = undefined
  return cp === undefined
}

function runCp(file: string, from: number, to: number): Promise<{ code?: number | null; stderr: string }> {
  return new Promise((resolve) => {
    let stderr = ''
    const args = ['--attributes-only', '--preserve=mode,xattr', '--', '/proc/self/fd/3', '/proc/self/fd/4']
    const child = spawnProgram(
      { file, args, cwd: '/', env: { LC_ALL: 'C' } },
      ['ignore', 'ignore', 'pipe', from, to],
      'brief',
    )
    child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.once('error', () => resolve({ stderr }))
    child.once('close', (code) => resolve({ code, stderr }))
  })
}
