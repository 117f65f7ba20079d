import { renameSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'

const tool = (n: number) => `name: number\ndescription: Says ${n}.\neffects: []\nmodule: ./number.js\n`
const module = (n: number) =>
  `export default async () => (await new Promise((done) => setTimeout(done, ${n % 7})), { ok: true, output: { n: ${n}, all: '${'x'.repeat(n)}' } })\n`
const policy = 'name: guard\nkind: policy\neffects: [write]\nmodule: ./guard.js\n'
const denying = "export default () => ({ deny: 'guarded' })\n"

/** Waits until the watcher has loaded a change. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await holds()); waited += 50) {
    if (waited > 60_000) throw new Error('it did not come to be within 60 s')
    await sleep(50)
  }
}
let files = 0
/** Always another file: a denial that is repeated says so. */
const write = async ({ call }: Booted) => {
  const result = await call('unified_file', { action: 'write', path: `${++files}.txt`, content: 'x', overwrite: true })
  return result.ok ? 'written' : result.error.code
}

/** Makes 200 calls a second until its end, to a plugin's tool and to a built-in one; `end` returns the kinds of answers. */
function busy(booted: Booted) {
  const answers: Promise<string>[] = []
  let over = false
  const load = (async () => {
    for (let n = 0; !over; n++) {
      const call = n % 2 ? booted.call('number') : booted.call('unified_file', { action: 'read', path: 'a.txt' })
      answers.push(call.then((result) => (result.ok ? 'ok' : result.error.code)))
      await sleep(5)
    }
  })()
  const end = async () => {
    over = true
    await load
    return [...new Set(await Promise.all(answers))]
  }
  return { answers, end }
}

describe('kernel.reload', () => {
  it('fails none of 200 calls a second during reloads', async () => {
    await using made = await tempWorkspace({ 'tools/number.yaml': tool(1), 'tools/number.js': module(1) })
    await using booted = await bootKernel({ manifests: [join(made.root, 'tools')], files: { 'a.txt': 'a' } })
    const { answers, end } = busy(booted)
    for (let n = 2; n < 12 || answers.length < 100; n++) {
      for (const [name, text] of [
        ['number.js', module(n)],
        ['number.yaml', tool(n)],
      ] as const) {
        await made.write(`${name}.draft`, text)
        renameSync(join(made.root, `${name}.draft`), join(made.root, 'tools', name))
      }
      expect((await booted.kernel.reload()).ok).toBe(true)
      const now = await booted.call('number')
      expect(now.ok && now.output['n']).toBe(n)
    }
    expect(await end()).toEqual(['ok'])
  })

  it('lets a running call finish on the generation it began with', async () => {
    await using made = await tempWorkspace({
      'tools/slow.yaml': 'name: slow\ndescription: x\neffects: []\nmodule: ./slow.js\n',
      'tools/slow.js':
        "export default () => new Promise((done) => setTimeout(done, 500, { ok: true, output: { by: 'old' } }))\n",
    })
    await using booted = await bootKernel({ manifests: [join(made.root, 'tools')] })
    await booted.call('slow')
    const running = booted.call('slow')
    await sleep(100)
    await made.write('tools/slow.js', "export default () => ({ ok: true, output: { by: 'the new one' } })\n")
    await booted.kernel.reload()
    expect(await booted.call('slow')).toMatchObject({ output: { by: 'the new one' } })
    expect(await running).toMatchObject({ output: { by: 'old' } })
  })

  it.each([
    ['its module throws on import', 'guard.js', "throw new Error('on purpose')\n"],
    ['its manifest is broken', 'guard.yaml', 'name: guard\nkind: policy\nnonsense: 1\n'],
    ['its file is gone', 'guard.yaml', undefined],
  ])('refuses a reload that would lose a policy because %s, and keeps the old generation', async (_, file, text) => {
    await using made = await tempWorkspace({ 'tools/guard.yaml': policy, 'tools/guard.js': denying })
    await using booted = await bootKernel({ manifests: [join(made.root, 'tools')] })
    expect(await write(booted)).toBe('VT_POLICY_DENIED')
    if (text === undefined) await rm(join(made.root, 'tools', file))
    else await made.write(`tools/${file}`, text)
    const { ok, diagnostics } = await booted.kernel.reload()
    expect([ok, diagnostics[0]!.code]).toEqual([false, 'VT_RELOAD_REFUSED'])
    expect(diagnostics[0]!.message).toMatch(/guard/)
    expect(await write(booted)).toBe('VT_POLICY_DENIED')
    await made.write('tools/guard.yaml', policy)
    await made.write('tools/guard.js', 'export default () => undefined // repaired\n')
    expect((await booted.kernel.reload()).ok).toBe(true)
    expect(await write(booted)).toBe('written')
  })

  it.each(['auto', 'inline'] as const)(
    'loads no half-written module while its file is overwritten in place: isolate %s',
    async (isolate) => {
      await using made = await tempWorkspace({ 'tools/number.yaml': tool(1), 'tools/number.js': module(1) })
      await using booted = await bootKernel({ manifests: [join(made.root, 'tools')], config: { plugins: { isolate } } })
      for (const half of [
        '',
        module(2).slice(0, 60),
        'export const other = 1\n',
        "throw new Error('the end is missing')\n",
        "await new Promise((done) => setTimeout(done, 1200))\nthrow new Error('the end is missing, as is seen late')\n",
      ]) {
        expect(await booted.call('number')).toMatchObject({ ok: true })
        expect((await booted.kernel.reload()).ok).toBe(true)
        // Many programs truncate a file before they write: first the file is empty, then it has a part.
        writeFileSync(join(made.root, 'tools/number.js'), half)
        const called = booted.call('number')
        await sleep(100)
        writeFileSync(join(made.root, 'tools/number.js'), module(2))
        expect(await called, half).toMatchObject({ ok: true, output: { n: 2 } })
      }
      writeFileSync(join(made.root, 'tools/number.js'), 'export const other = 1\n')
      await booted.kernel.reload()
      expect(await booted.call('number')).toMatchObject({ ok: false, error: { code: 'VT_PLUGIN_IMPORT' } })
    },
  )

  it('keeps the slot of a broken override from the built-in handler', async () => {
    await using made = await tempWorkspace({
      'tools/mine.yaml': 'name: mine\naction: unified_file/read\nstage: override\nmodule: ./mine.js\n',
      'tools/mine.js': "export default () => ({ ok: true, output: { content: 'withheld' } })\n",
    })
    await using booted = await bootKernel({ manifests: [join(made.root, 'tools')], files: { 'a.txt': 'secret' } })
    const read = () => booted.call('unified_file', { action: 'read', path: 'a.txt' })
    expect(await read()).toMatchObject({ output: { content: 'withheld' } })
    await made.write('tools/mine.yaml', 'name: mine\naction: unified_file/read\nstage: overide\nmodule: ./mine.js\n')
    expect((await booted.kernel.reload()).ok).toBe(false)
    expect(await read()).toMatchObject({ output: { content: 'withheld' } })
  })
})

describe('plugins.watch', () => {
  const watched = async (files: Record<string, string>) => {
    const made = await tempWorkspace(files)
    const booted = await bootKernel({
      files: { 'a.txt': 'a' },
      manifests: [join(made.root, 'tools')],
      config: { plugins: { watch: true } },
    })
    return {
      made,
      booted,
      dispose: async () => (await booted[Symbol.asyncDispose](), await made[Symbol.asyncDispose]()),
    }
  }

  it('follows changed, added and removed manifests, and ignores half-written ones', async () => {
    const { made, booted, dispose } = await watched({ 'tools/number.yaml': tool(1), 'tools/number.js': module(1) })
    const names = () => booted.kernel.tools().map(({ name }) => name)
    try {
      await made.write('tools/number.yaml', tool(2))
      await until(() => booted.kernel.describe('number')?.description === 'Says 2.')
      await made.write('tools/other.yaml', 'name: other\ndescription: x\nrun: [echo]\n')
      await until(() => names().includes('other'))
      const { generation } = booted.kernel.inspection
      await made.write('tools/number.yaml', tool(3).slice(0, 30) + ' [')
      await until(() => booted.kernel.diagnostics().some(({ code }) => code === 'VT_RELOAD_REFUSED'))
      expect(booted.kernel.inspection.generation).toBe(generation)
      expect(await booted.call('number')).toMatchObject({ ok: true, output: { n: 1 } })
      await made.write('tools/number.yaml', tool(4))
      await until(() => booted.kernel.describe('number')?.description === 'Says 4.')
      expect(booted.kernel.diagnostics().map(({ code }) => code)).not.toContain('VT_RELOAD_REFUSED')
      await rm(join(made.root, 'tools/other.yaml'))
      await until(() => !names().includes('other'))
    } finally {
      await dispose()
    }
  })

  it('fails none of 200 calls a second while the watcher reloads', async () => {
    const { made, booted, dispose } = await watched({ 'tools/number.yaml': tool(1), 'tools/number.js': module(1) })
    try {
      const { answers, end } = busy(booted)
      for (let n = 2; n < 5 || answers.length < 100; n++) {
        // Editors replace a file by a rename: readers see the old or the new file, never a part.
        for (const [name, text] of [
          ['number.js', module(n)],
          ['number.yaml', tool(n)],
        ] as const) {
          await made.write(`${name}.draft`, text)
          renameSync(join(made.root, `${name}.draft`), join(made.root, 'tools', name))
        }
        await until(() => booted.kernel.describe('number')?.description === `Says ${n}.`)
        const now = await booted.call('number')
        expect(now.ok && now.output['n']).toBe(n)
      }
      expect(await end()).toEqual(['ok'])
    } finally {
      await dispose()
    }
  })

  it('keeps a policy that is broken or gone, and loads the repaired one', async () => {
    const { made, booted, dispose } = await watched({ 'tools/guard.yaml': policy, 'tools/guard.js': denying })
    try {
      await made.write('tools/guard.js', "throw new Error('on purpose')\n")
      await until(() => booted.kernel.diagnostics().some(({ code }) => code === 'VT_RELOAD_REFUSED'))
      expect(await write(booted)).toBe('VT_POLICY_DENIED')
      await made.write('tools/guard.js', 'export default () => undefined // repaired\n')
      await until(async () => (await write(booted)) === 'written')
    } finally {
      await dispose()
    }
  })
})
