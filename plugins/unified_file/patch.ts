import type { Handler } from '../../core/index.js'
import { applyPatch } from '../lib/patch/index.js'

/** `unified_file/patch`: runs `apply_patch`, optionally limited to one file. */
export default (async (call, context) => {
  const { patch, path, dry_run } = call.input
  return applyPatch(call, context, patch, { dryRun: dry_run, ...(path !== undefined && { only: path }) })
}) satisfies Handler<{ patch: string; path?: string; dry_run: boolean }>
