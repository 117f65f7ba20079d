import type { JsonObject } from '../../../core/shapes/index.js'

/** Converts the events of one answer to the exact form that the client library of the format accepts. */
export interface Repair {
  /** Set when the answer is over; further events belong to no answer. */
  readonly ended: boolean
  /** Converts an event, or a whole answer. Throws ServerFault for an error and Cut for a broken answer. */
  repair(event: JsonObject): JsonObject[]
  /** Returns the events that are missing when the server marks the answer as over. */
  finish(): JsonObject[]
}
