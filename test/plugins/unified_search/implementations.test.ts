import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

const boot = async () => hold(await bootTypeScript({ files: shapesProject }))

it('lists the classes that implement an interface', async () => {
  const ws = await boot()
  expect(await ws.call('unified_search', { action: 'implementations', symbol: 'Shape' })).toMatchObject({
    output: {
      matches: [
        { line_number: 2, column: 14 },
        { line_number: 3, column: 14 },
      ],
      total: 2,
    },
  })
})
