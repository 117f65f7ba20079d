import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { bootTypeScript } from '../../support/language_servers.js'
import { shapesProject } from '../../support/shapes_project.js'

const boot = async () => hold(await bootTypeScript({ files: shapesProject }))

it('lists the symbols of a project by a part of their name', async () => {
  const ws = await boot()
  expect(await ws.call('unified_search', { action: 'symbols', query: 'Circle' })).toMatchObject({
    output: { matches: [{ path: 'shapes.ts', line_number: 2, name: 'class Circle' }] },
  })
})

it('answers with the outline where no query is given', async () => {
  const ws = await boot()
  expect(await ws.call('unified_search', { action: 'symbols', path: 'shapes.ts' })).toMatchObject({
    output: { view: 'digest' },
  })
})
