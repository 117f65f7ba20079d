import { writeStateSync } from '../../../core/system/index.js'
import { adoptedFile } from '../../../core/config/index.js'
import { readBytes } from '../../../core/documents/index.js'

/** What the user allows in one workspace, in a file of theirs that no repository brings. */
export interface AllowedHere {
  rules: readonly string[]
  write(rules: readonly string[]): void
}
export function allowedHere(home: string, workspace: string): AllowedHere {
  const file = adoptedFile(home, workspace, { make: true })!
  return {
    rules: read(file),
    write: (allow) => writeStateSync(file, `${JSON.stringify({ policy: { allow } }, null, 2)}\n`),
  }
}

function read(file: string): string[] {
  try {
    return (JSON.parse(readBytes(file).toString()) as { policy: { allow: string[] } }).policy.allow
  } catch {
    return []
  }
}
