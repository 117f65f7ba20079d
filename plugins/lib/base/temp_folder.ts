import { createHash } from 'node:crypto'
import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isProcessRunning } from '../../../core/system/index.js'

/** Where process ids mean what they mean here: containers and machines may share a temporary folder. */
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

/** A fresh folder that only this user can enter, `vtcode-<purpose>-…`. Who makes it removes it. Throws what the system says. */
export function createTempFolder(purpose: string): string {
  const place = tmpdir()
  const here = readRealm()
  if (!swept.has(place)) sweep(place, here)
  swept.add(place)
  return mkdtempSync(join(place, `vtcode-${purpose}-${process.pid}-${here}-`))
}

/** Removes the folders of this user whose process is gone. Contract: does not throw. */
function sweep(place: string, here: string): void {
  for (const name of listNames(place)) {
    const [, pid, realm] = /^vtcode-[a-z]+-(\d+)-([0-9a-f]{8})-\w{6}$/.exec(name) ?? []
    if (realm !== here || isProcessRunning(Number(pid))) continue
    try {
      const stat = lstatSync(join(place, name))
      if (stat.isDirectory() && stat.uid === (process.getuid?.() ?? stat.uid))
        rmSync(join(place, name), { recursive: true, force: true })
    } catch {
      // Somebody else removes it, or may.
    }
  }
}

function listNames(place: string): string[] {
  try {
    return readdirSync(place)
  } catch {
    return []
  }
}
