import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { askAll, faces, rowsOf, type Face } from '../../support/faces.js'
import {
  addresses,
  changesOutside,
  commands,
  hidden,
  manifests,
  names,
  runs,
  searches,
  type HostileCall,
} from '../../support/hostile.js'
import { hostileTree, treeText, type HostileTree } from '../../support/paths.js'
import { page, serve } from '../../support/server.js'

// Each surface makes all calls, so that none avoids a guard; the built program is used, as users have it.
describe.each(Object.keys(faces))('%s', (name) => {
  let tree: HostileTree
  let home: TempWorkspace
  let marker: string
  let face: Face
  beforeAll(async () => {
    tree = hostileTree()
    home = await tempWorkspace()
    marker = join(home.home, 'marker')
    mkdirSync(join(home.home, 'bin'))
    for (const file of [join(home.home, 'bin/bcmd'), join(tree.root, 'bcmd'), join(tree.root, 'x.sh')]) {
      writeFileSync(file, `#!/bin/sh\necho ran >> '${marker}'\n`)
      chmodSync(file, 0o755)
    }
    // A plugin of the workspace would leave the marker as soon as it is loaded.
    mkdirSync(join(tree.root, '.vtcode/plugins/brought'), { recursive: true })
    writeFileSync(
      join(tree.root, '.vtcode/plugins/brought/vtcode.yaml'),
      'name: brought\ndescription: A tool.\neffects: []\nmodule: ./main.js\n',
    )
    writeFileSync(
      join(tree.root, '.vtcode/plugins/brought/main.js'),
      `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(marker)}, 'ran')\nexport default () => ({ ok: true, output: {} })\n`,
    )
    const plugins = await manifests(join(home.home, 'plugins'))
    await home.write(
      '../home/.vtcode/vtcode.config.json',
      JSON.stringify({
        manifests: ['builtin', ...plugins],
        sandbox: { mode: 'off' },
        tools: { max_repeated_tool_calls: 0 },
        policy: {
          allow: ['unified_search/web', 'defuddle_fetch', 'unified_file/delete', 'Bash(printenv)'],
          deny: ['Bash(bcmd *)', 'Read(/hidden/**)'],
        },
      }),
    )
    face = await faces[name]!({
      home,
      root: tree.root,
      env: {
        PATH: `${join(home.home, 'bin')}:${process.env['PATH']}`,
        ACME_API_KEY: 'SECRET-KEY-0123456789',
        ACME_NOTE: 'SECRET',
        NODE_OPTIONS: '--no-warnings',
      },
    })
  })
  afterAll(async () => {
    await face[Symbol.asyncDispose]()
    tree.remove()
    await home[Symbol.asyncDispose]()
  })

  /** Makes all calls and returns each that ended wrongly; conditions that hold everywhere are checked here. */
  async function played(all: HostileCall[]): Promise<unknown[]> {
    const before = treeText(tree.base)
    // An argument of a process holds no NUL.
    const asked = rowsOf(name, all, all.length < 60 ? 5 : 11).filter(
      ({ tool }) => name !== 'the command line' || !tool.includes('\0'),
    )
    const wrong = await askAll(asked, async ({ tool, input, ends }) => {
      const answer = await face.call(tool, input)
      const told = JSON.stringify(answer)
      const right = ends === 'ok' ? answer.ok : !answer.ok && ends.test(answer.error?.code ?? '')
      // An answer may quote its input; text from outside is in no answer.
      const leaks = /SECRET|root:x:0/.test(told) && !/SECRET/.test(JSON.stringify(input))
      return right && !leaks && !existsSync(marker)
        ? []
        : [{ tool, input, ends: String(ends), answer: told.slice(0, 400), leaks, ran: existsSync(marker) }]
    })
    // The process lives, answers the next call, and nothing changed anywhere.
    expect(await face.call('unified_file', { action: 'read', path: 'a.txt' })).toMatchObject({
      ok: true,
      output: { content: 'inside\n' },
    })
    expect(treeText(tree.base)).toEqual(before)
    return wrong.flat()
  }

  it('changes nothing outside the workspace, no special file and no auto-executed config', async () => {
    expect(await played(changesOutside(tree))).toEqual([])
  })
  it('searches nothing outside the workspace, and answers patterns that are slow elsewhere', async () => {
    expect(await played(searches(tree))).toEqual([])
  })
  it('shows no file that a rule hides through any tool or command, and no key of its environment', async () => {
    expect(await played(hidden(tree))).toEqual([])
  })
  it('starts no program that a rule denies under any spelling, and writes with no unapproved command', async () => {
    expect(await played(commands())).toEqual([])
  })
  it('answers long runs of one character without a hang', async () => {
    expect(await played(runs())).toEqual([])
  })
  it('connects to no address that is not public, in no spelling', async () => {
    await using server = await serve(page('SECRET', 'text/plain'))
    expect(await played(addresses(server.port))).toEqual([])
    expect(server.seen).toEqual([])
  })
  it('accepts no invalid name as a tool, whatever manifests and clients make of names', async () => {
    expect(await played(names())).toEqual([])
  })
})
