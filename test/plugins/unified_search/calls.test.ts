import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

const boot = async () => hold(await bootTypeScript({ files: shapesProject }))

it('lists the callers of a function, and the functions that it calls', async () => {
  const ws = await boot()
  const calls = (input: object) => ws.call('unified_search', { action: 'calls', symbol: 'measure', ...input })
  expect(await calls({})).toMatchObject({
    output: {
      total: 2,
      matches: [
        { path: 'main.ts', line_number: 3 },
        { path: 'main.ts', line_number: 4 },
      ],
    },
  })
  expect(await calls({ direction: 'outgoing' })).toMatchObject({
    output: { matches: [{ path: 'shapes.ts', line_number: 1, name: 'area' }] },
  })
})
