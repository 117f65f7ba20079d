import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

it('shows a skill like load_skill, completes its name and refuses an unknown one', async () => {
  await using booted = await bootKernel({
    files: { '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use for demos.\n---\nRead ref.md.\n' },
  })
  expect(await booted.call('resource/skill', { name: 'demo' })).toMatchObject({
    ok: true,
    text: expect.stringContaining('Read ref.md.'),
  })
  expect(await booted.call('resource/skill', { name: 'nothing' })).toMatchObject({
    ok: false,
    error: { code: 'VT_PATH_NOT_FOUND' },
  })
  expect(await booted.kernel.inspection.complete('resource/skill', 'name', 'de')).toEqual(
    expect.arrayContaining(['demo', 'debugging']),
  )
})
