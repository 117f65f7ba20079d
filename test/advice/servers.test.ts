import { describe, expect, it } from 'vitest'
import { hold } from '../support/held.js'
import { serverSituations } from './server_situations.js'

// Advice after an error of a server: the call fails, then what the advice says succeeds.

describe('the advice of a call that needs a server', () => {
  it.each(serverSituations.map((one) => [one.code, one] as const))(
    'succeeds when it is followed after %s',
    async (code, { boot, call, advice, then }) => {
      const booted = hold(await boot())
      const failed = await booted.call(...call)
      expect(failed).toMatchObject({ ok: false, error: { code, hint: expect.stringMatching(advice) } })
      for (const one of then) expect(await booted.call(...one), JSON.stringify(one)).toMatchObject({ ok: true })
    },
  )
})
