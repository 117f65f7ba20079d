import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'

const available: Record<string, () => boolean> = {
  'ast-grep': () =>
    ['', '-gnu', '-msvc'].some((kind) =>
      resolvable(`@ast-grep/cli-${process.platform}-${process.arch}${kind}/package.json`),
    ),
  pty: () => resolvable('node-pty') || resolvable('@lydell/node-pty'),
  python3: () => runs('python3', '--version'),
  net: () => process.env.VTCODE_TEST_NET === '1',
}
const resolvable = (name: string): boolean => {
  try {
    return existsSync(createRequire(import.meta.url).resolve(name))
  } catch {
    return false
  }
}
const runs = (program: string, ...args: string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The needs of an example that this machine does not meet. */
export const missingNeeds = (example: { needs?: string[] }): string[] =>
  (example.needs ?? []).filter((need) => !available[need]?.())
