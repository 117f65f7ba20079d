import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { homeOf } from '../../../../build/core/system/index.js'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { tidy } from '../../../../build/plugins/agent/history/index.js'
import { sealedIn } from '../../../support/seal.js'

it('looks once at what sessions put aside, however many sessions there are, and takes from the one used longest ago', async () => {
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
  const workspace = openWorkspace(place.root, { home: homeOf({ home: place.home, env: {} }) })
  const names = vi.spyOn(workspace, 'names')
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
    // What the one in use and one that is gone have put aside stays: 1,600 KiB of the sessions are too many by 576, thus three texts.
    expect(await within(1)).toEqual({ left: texts.map((_, index) => index < 1 || index > 3), looks: 1 })
  } finally {
    workspace.close()
  }
})
