import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

const boot = async () => hold(await bootTypeScript({ files: shapesProject }))

it('shows the type of a symbol', async () => {
  const ws = await boot()
  expect(await ws.call('unified_search', { action: 'hover', symbol: 'measure' })).toMatchObject({
    output: { path: 'main.ts', line_number: 2, truncated: false },
    text: expect.stringContaining('function measure(shape: Shape): number'),
  })
})
