import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'

/** Returns the paths of the files that npm would publish; npm is asked once per run. */
export function packedFiles(project: string): string[] {
  const file = join(inject('run'), 'packed.json')
  if (!existsSync(file)) {
    const printed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: project,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    writeFileSync(`${file}.${process.pid}`, printed.replace(/^[^[]*/, ''))
    renameSync(`${file}.${process.pid}`, file)
  }
  const [packed] = JSON.parse(readFileSync(file, 'utf8')) as { files: { path: string }[] }[]
  return packed!.files.map(({ path }) => path)
}
