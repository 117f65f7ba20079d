import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { resolveHome } from '../../../../build/core/system/index.js'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { tidy } from '../../../../build/plugins/agent/history/index.js'
import { sealedIn } from '../../../support/seal.js'

it('checks the spool once for any number of sessions and removes from the least recently used', async () => {
  await using place = await tempWorkspace({})
  const ids = Array.from({ length: 8 }, (_, index) => `ses_${index}`)
  const spool = join(place.root, '.vtcode/spool')
  mkdirSync(spool, { recursive: true })
  const sealed = sealedIn(place)
  const texts = [...ids, 'ses_GONE'].map((id) => join(spool, sealed.text(id, 1)))
  for (const text of texts) writeFileSync(text, Buffer.alloc(200 * 1024))
  for (const [index, session_id] of ids.entries()) {
    mkdirSync(join(place.root, '.vtcode/sessions', session_id), { recursive: true })
    writeFileSync(
      join(place.root, '.vtcode/sessions', session_id, 'manifest.json'),
      JSON.stringify({ session_id, updated_at: `2026-01-0${index + 1}`, status: 'idle', first_prompt: '' }),
    )
  }
  const workspace = openWorkspace(place.root, { home: resolveHome({ home: place.home, env: {} }) })
  const names = vi.spyOn(workspace, 'listNames')
  const within = async (spool_max_mb: number): Promise<{ left: boolean[]; looks: number }> => {
    names.mockClear()
    const settings = {
      sessions: { max_count: 0, max_age_days: 0, max_total_mb: 0 },
      context: { dynamic: { spool_max_mb } },
    } as Parameters<typeof tidy>[1]
    expect(await tidy(workspace, settings, { now: 0, current: 'ses_0' })).toEqual([])
    return {
      left: texts.map((text) => existsSync(text)),
      looks: names.mock.calls.filter(([folder]) => folder === '.vtcode/spool').length,
    }
  }
  try {
    expect(await within(0)).toEqual({ left: texts.map(() => true), looks: 1 })
    expect(await within(2)).toEqual({ left: texts.map(() => true), looks: 1 })
    // Spool files of the current and of a missing session stay. The others exceed the limit by 576 KiB: three go.
    expect(await within(1)).toEqual({ left: texts.map((_, index) => index < 1 || index > 3), looks: 1 })
  } finally {
    workspace.close()
  }
})
