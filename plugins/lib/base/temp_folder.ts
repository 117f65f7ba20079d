import { createHash } from 'node:crypto'
import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isProcessRunning } from '../../../core/system/index.js'

/** Returns an id of the host and its PID namespace. Containers and machines may share a temporary folder. */
const readRealm = (): string =>
  createHash('sha256').update(`${hostname()} ${readPidNamespace()}`).digest('hex').slice(0, 8)
const readPidNamespace = (): string => {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

const swept = new Set<string>()

/**
 * Creates a folder `vtcode-<purpose>-…` that only this user can enter. The caller removes the folder. Throws errors of
 * the file system.
 */
export function createTempFolder(purpose: string): string {
  const folder = tmpdir()
  const realm = readRealm()
  if (!swept.has(folder)) sweep(folder, realm)
  swept.add(folder)
  return mkdtempSync(join(folder, `vtcode-${purpose}-${process.pid}-${realm}-`))
}

/** Removes folders of this user whose process has ended. Contract: does not throw. */
function sweep(folder: string, realm: string): void {
  for (const name of listNames(folder)) {
    const [, pid, owner] = /^vtcode-[a-z]+-(\d+)-([0-9a-f]{8})-\w{6}$/.exec(name) ?? []
    if (owner !== realm || isProcessRunning(Number(pid))) continue
    try {
      const stat = lstatSync(join(folder, name))
      if (stat.isDirectory() && stat.uid === (process.getuid?.() ?? stat.uid))
        rmSync(join(folder, name), { recursive: true, force: true })
    } catch {
      // Another process may remove the folder at the same time.
    }
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
