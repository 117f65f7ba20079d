import { homedir } from 'node:os'
import type { Settings } from '../../../core/shapes/index.js'

/** Returns the audit log of consents that the user's settings name; `undefined` if they name none. */
export function resolveAuditLog(
  { trust }: Pick<Settings, 'trust'>,
  env: Record<string, string | undefined>,
): string | undefined {
  return trust.audit_log?.replace(/^~(?=\/)/, env['HOME'] ?? homedir())
}
