import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../support/program.js'
import { folder } from '../support/pages.js'

const names = readdirSync(folder)

describe('bundled skills', () => {
  it('bundles exactly the promised skills', () => {
    expect(names).toEqual([
      'ast-grep',
      'code-review',
      'commit-and-pr',
      'debugging',
      'plugin-author',
      'safe-editing',
      'skill-creator',
      'terminal-driver',
    ])
  })
  it('validates each bundled skill by the open format', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['skills', 'validate', ...names.map((name) => join(folder, name))])).toMatchObject({
      code: 0,
    })
  })
  it.each(names)('keeps %s short, with its use in the description and references one level deep', (name) => {
    const text = readFileSync(join(folder, name, 'SKILL.md'), 'utf8')
    expect(text.split('\n').length).toBeLessThan(500)
    expect(text).toMatch(/^description:[\s\S]*?\bUse\b[\s\S]*?^---$/m)
    const files = readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => file.split('/').length > 2)).toEqual([])
  })
})
