import { homedir } from 'node:os'
import type { JsonObject } from '../../../core/base/index.js'

/** The file that the user's settings name for an account of consents; nothing where they name none. */
export function auditLog(settings: Readonly<JsonObject>, env: Record<string, string | undefined>): string | undefined {
  const { audit_log } = (settings['trust'] ?? {}) as { audit_log?: string }
  return audit_log?.replace(/^~(?=\/)/, env['HOME'] ?? homedir())
}
