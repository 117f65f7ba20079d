import { writeStateSync } from '../../../core/system/index.js'
import { findAdoptedFile } from '../../../core/config/index.js'
import { readBytes } from '../../../core/documents/index.js'

/** Rules that the user allows in one workspace, in a file of the user outside the repository. */
export interface AllowList {
  rules: readonly string[]
  write(rules: readonly string[]): void
}
export function openAllowList(home: string, workspace: string): AllowList {
  const file = findAdoptedFile(home, workspace, { make: true })!
  return {
    rules: readRules(file),
    write: (allow) => writeStateSync(file, `${JSON.stringify({ policy: { allow } }, null, 2)}\n`),
  }
}

function readRules(file: string): string[] {
  try {
    return (JSON.parse(readBytes(file).toString()) as { policy: { allow: string[] } }).policy.allow
  } catch {
    return []
  }
}
