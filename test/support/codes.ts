import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codes } from 'vtcode'
import { parse } from 'yaml'

const manifests = new URL('../../manifests/', import.meta.url).pathname

/** The codes of the kernel's table and those that manifests declare. */
export function knownCodes(): string[] {
  const files = readdirSync(manifests, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'))
  const declared = files.flatMap((file) =>
    Object.keys((parse(readFileSync(join(manifests, file), 'utf8')) as { errors?: object }).errors ?? {}),
  )
  return [...new Set([...Object.keys(codes), ...declared])]
}

/** Notes of the test files of a run: which ran, and the codes that they saw. */
export function seenIn(folder: string): { files: Set<string>; codes: Set<string> } {
  const all = readdirSync(folder).map(
    (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { file: string; codes: string[] },
  )
  return { files: new Set(all.map(({ file }) => file)), codes: new Set(all.flatMap((one) => one.codes)) }
}
