import { execFileSync } from 'node:child_process'

let paths: string[] | undefined

/** Returns the paths of the files that npm would publish; npm is asked once per process. */
export function packedFiles(project: string): string[] {
  if (paths === undefined) {
    const printed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const [packed] = JSON.parse(printed.replace(/^[^[]*/, '')) as { files: { path: string }[] }[]
    paths = packed!.files.map(({ path }) => path)
  }
  return paths
}
