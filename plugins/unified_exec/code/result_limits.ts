/** Limits of a `result`: bytes of JSON, values in it, and levels. More values do not fit into the bytes. */
export const RESULT_LIMITS = { bytes: 256 * 1024, values: 128 * 1024, levels: 50 }

/** The largest integer up to which JSON numbers are exact here. */
export const EXACT_INTEGER = Number.MAX_SAFE_INTEGER
