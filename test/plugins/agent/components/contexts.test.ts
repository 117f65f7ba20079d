import { expect, it } from 'vitest'
import { resolveRunContext, runContexts } from '../../../../build/plugins/agent/components/index.js'

it('allows only contexts that are at least as strict as the default', () => {
  const allowed = (verb: 'interactive' | 'exec', env = {}) =>
    runContexts.filter((asked) => {
      try {
        return resolveRunContext(verb, asked, env) === asked
      } catch (error) {
        expect(error).toMatchObject({
          code: 'VT_CONFIG_INVALID',
          message: expect.stringContaining(`--context ${asked} is looser`),
        })
        return false
      }
    })
  expect(allowed('interactive')).toEqual(['interactive', 'exec', 'ci', 'bench', 'worker'])
  expect(allowed('exec')).toEqual(['exec', 'ci', 'bench', 'worker'])
  expect(allowed('exec', { CI: 'true' })).toEqual(['ci', 'worker'])
  expect([
    resolveRunContext('exec', undefined, {}),
    resolveRunContext('exec', undefined, { CI: '1' }),
    resolveRunContext('exec', undefined, { CI: 'false' }),
    resolveRunContext('interactive', undefined, { CI: '1' }),
  ]).toEqual(['exec', 'ci', 'exec', 'interactive'])
})
