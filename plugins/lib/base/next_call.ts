import type { JsonObject, Next } from '../../../core/shapes/index.js'

/** Slots that answers of this program name as the next step. */
const steps = {
  read: 'unified_file/read',
  list: 'unified_search/list',
  grep: 'unified_search/grep',
  outline: 'unified_search/outline',
  poll: 'unified_exec/poll',
  inspect: 'unified_exec/inspect',
  sessions: 'unified_exec/list',
  skills: 'list_skills',
  skill: 'load_skill',
} as const

/** Returns the call for a next step. */
export function nextCall(step: keyof typeof steps, input: JsonObject = {}): Next {
  const [tool = '', action] = steps[step].split('/')
  return { tool, input: { ...(action !== undefined && { action }), ...input } }
}

/** Returns a next call from a value of unknown form; `undefined` for anything else. */
export function parseNextCall(next: unknown): Next | undefined {
  const { tool, input } = (next ?? {}) as Partial<Next>
  return typeof tool === 'string' && typeof input === 'object' && input !== null ? { tool, input } : undefined
}
