import { expect, it } from 'vitest'
import { listStartFolders, renderInstructions } from '../../../../build/plugins/agent/instructions/index.js'

it('lists the folders between a root and the folder of the start, outermost first', () => {
  const here = process.cwd()
  const parts = here.split('/').slice(1)
  expect(listStartFolders({ root: '/' })).toEqual(parts.map((_, at) => parts.slice(0, at + 1).join('/')))
  expect(listStartFolders({ root: here })).toEqual([])
  expect(listStartFolders({ root: `${here}/elsewhere` })).toEqual([])
})

it('marks the text of each file with its path', () => {
  const files = [
    { path: 'AGENTS.md', text: 'Run the tests.\n' },
    { path: 'docs/AGENTS.md', text: 'Plain sentences.' },
  ]
  const text = renderInstructions(files)
  expect(text).toMatch(/path="AGENTS\.md"[^]*Run the tests\.[^]*path="docs\/AGENTS\.md"[^]*Plain sentences\./)
})
