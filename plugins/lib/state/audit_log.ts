import { homedir } from 'node:os'
import type { Settings } from '../../../core/shapes/index.js'

/** The file that the user's settings name for an account of consents; nothing where they name none. */
export function auditLog(
  { trust }: Pick<Settings, 'trust'>,
  env: Record<string, string | undefined>,
): string | undefined {
  return trust.audit_log?.replace(/^~(?=\/)/, env['HOME'] ?? homedir())
}
