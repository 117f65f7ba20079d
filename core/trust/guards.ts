import { relative } from 'node:path'
import type { Contribution, Effect, JsonObject, VtError } from '../shapes/index.js'
import { readBytes } from '../documents/index.js'
import { hashContent } from './tree.js'

/** The calls that a guard covers; absent members limit nothing. */
export interface GuardExtent {
  slots?: string[]
  effects?: Effect[]
}
/** A guard among the things that the user agreed to. */
export interface Guard extends GuardExtent {
  /** Its manifest, relative to the workspace, with its kind. */
  manifest?: { file: string; kind: string }
}

/** A policy without consent, or a guard that the user agreed to in an earlier state. */
export interface MissingGuard {
  id: string
  reason: string
  agreed?: boolean
  /** With `agreed`: the calls that it covered; absent for all. */
  covers?: readonly GuardExtent[]
}

/** Describes a guard that the user agreed to in an earlier state. */
export const toMissingGuard = (
  id: string,
  { message, problem: { hint } }: VtError,
  covers?: readonly GuardExtent[],
): MissingGuard => ({ id, reason: `${message} ${hint}`, agreed: true, ...(covers && { covers }) })

/** Returns the guard that a contribution is: a policy, or lifecycle hooks that may stop a call. */
export function findGuard({ kind, file, manifest }: Contribution, workspace: string): { guards?: Guard[] } {
  if (kind === 'hooks' && !hasGuardHooks(manifest.hooks)) return { guards: [] }
  if (kind !== 'policy' && kind !== 'hooks') return {}
  const { slots, effects } = kind === 'policy' ? manifest : {}
  const place = { file: relative(workspace, file), kind }
  return { guards: [{ manifest: place, ...(slots && { slots }), ...(effects && { effects }) }] }
}

/** Returns whether some of these hooks may stop a call. */
export const hasGuardHooks = (block: unknown): boolean => Object.keys((block ?? {}) as JsonObject).some(isGuardEvent)

export const isGuardEvent = (event: string): boolean =>
  ['pretooluse', 'beforetool'].includes(event.replaceAll('_', '').toLowerCase())

/** Returns the hash of a file; `undefined` for a file that cannot be read. */
export function hashIfReadable(file: string): string | undefined {
  try {
    return hashContent(readBytes(file, { limit: 256 * 1_048_576 }))
  } catch {
    return undefined
  }
}
