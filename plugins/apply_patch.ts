import type { Handler } from '../core/index.js'
import { applyPatch } from './lib/patch/index.js'

/** `apply_patch`: changes several files, all or nothing. */
export default (async (call, context) =>
  applyPatch(call, context, call.input.input, { dryRun: call.input.dry_run })) satisfies Handler<{
  input: string
  dry_run: boolean
}>
