import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { changesOutside, hidden, searches } from '../../support/hostile.js'
import { hostileTree, pathCases, treeText, type HostileTree } from '../../support/paths.js'
import { rawMcp } from '../../support/raw_mcp.js'

// Most clients call on this path: text as answer, past the MCP library, many calls at once. The tables of all surfaces
// and other slow requests run here on it.
let tree: HostileTree
let home: TempWorkspace
let server: ReturnType<typeof rawMcp>
beforeAll(async () => {
  tree = hostileTree()
  home = await tempWorkspace()
  await home.write(
    '../home/.vtcode/vtcode.config.json',
    JSON.stringify({
      sandbox: { mode: 'off' },
      tools: { max_repeated_tool_calls: 0 },
      policy: { allow: ['unified_file/delete'], deny: ['Read(/hidden/**)'] },
    }),
  )
  server = rawMcp(home, ['mcp', '--workspace', tree.root], tree.root)
  server.send({
    id: 'open',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  })
  await server.line(({ id }) => id === 'open')
  server.send({ method: 'notifications/initialized' })
})
afterAll(async () => {
  expect(await server.end()).toBe(0)
  tree.remove()
  await home[Symbol.asyncDispose]()
})

interface Asked {
  tool: string
  input: Record<string, unknown>
  /** A pattern of the answer's text; a pattern that begins with a code expects a refusal. */
  ends: 'ok' | RegExp
}
const search = (ends: Asked['ends'], input: Record<string, unknown>): Asked => ({ tool: 'unified_search', input, ends })
const isRefusal = (ends: Asked['ends']) => ends !== 'ok' && ends.source.startsWith('^VT_')

/** Makes all calls, `atOnce` in parallel, and returns each that ended wrongly or shows a secret. */
async function asked(all: Asked[], atOnce = 16): Promise<unknown[]> {
  const wrong: unknown[] = []
  const left = all.values()
  const work = async () => {
    for (const { tool, input, ends } of left) {
      const { result, error } = await server.call({ name: tool, arguments: input })
      const text = error ? `RPC_${error.code}` : (result!.content[0]!.text ?? '')
      const isWrong =
        error ||
        ((result as { isError?: true }).isError === true) !== isRefusal(ends) ||
        (ends !== 'ok' && !ends.test(text))
      if (isWrong || (/SECRET|root:x:0/.test(text) && !/SECRET/.test(JSON.stringify(input))))
        wrong.push({ tool, input: JSON.stringify(input).slice(0, 200), ends: String(ends), text: text.slice(0, 400) })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return wrong
}
const put = (path: string, text: string) => {
  mkdirSync(join(tree.root, path, '..'), { recursive: true })
  writeFileSync(join(tree.root, path), text)
}

it('answers hostile paths, changes and searches on the short path as every surface does', async () => {
  const reads = pathCases(tree).map(({ path, code }) => ({
    tool: 'unified_file',
    input: { action: 'read', path },
    ends: code === undefined ? /^inside\n/ : new RegExp(`^${code}: `),
  }))
  const tables = [...changesOutside(tree), ...searches(tree), ...hidden(tree)].filter(
    ({ tool }) => tool !== 'unified_exec',
  )
  const before = treeText(tree.base)
  expect(await asked([...reads, ...tables])).toEqual([])
  expect(treeText(tree.base)).toEqual(before)
})

it('keeps the limits of slow searches and changing trees in one server', async () => {
  put('many.txt', 'x\n'.repeat(300_000))
  put('wide/.gitignore', '\ufeff/top\n*.tmp\r\n!keep.tmp\nbuild/\n!build/keep\n[!a]x\n')
  for (const path of ['top', 'in/top', 'y.tmp', 'keep.tmp', 'build/keep', 'ax', 'bx']) put(`wide/${path}`, 'needle\n')
  for (let index = 0; index < 1000; index++) put(`d/f${String(index).padStart(4, '0')}.ts`, `log(${index})\n`)
  const before = treeText(join(tree.root, 'd'))
  put('churn/0.txt', 'needle\n')
  put('stay.txt', 'needle\n')
  let round = 0
  const churn = setInterval(() => {
    renameSync(join(tree.root, `churn/${round}.txt`), join(tree.root, `churn/${++round}.txt`))
    put('churn/fresh.txt', 'needle\n')
    rmSync(join(tree.root, 'churn/fresh.txt'))
  }, 1)
  const wrong = await asked([
    search(/^many\.txt\n1:x\n[^]*300,?000 matches/, { action: 'grep', pattern: 'x', path: 'many.txt', max_results: 1 }),
    search(/^wide\/ax\nwide\/in\/top\nwide\/keep\.tmp\n3 entries/, {
      action: 'list',
      mode: 'recursive',
      path: 'wide',
      entry_type: 'file',
    }),
    search(/^wide\/ax\n1:needle\n\nwide\/in\/top\n1:needle\n\nwide\/keep\.tmp\n1:needle\n/, {
      action: 'grep',
      pattern: 'needle',
      path: 'wide',
    }),
    search(/print\(0\)/, {
      action: 'structural',
      workflow: 'rewrite',
      pattern: 'log($A)',
      rewrite: 'print($A)',
      path: 'd',
      max_results: 1000,
    }),
    search(/^VT_INPUT_/, { action: 'grep', pattern: 'x', globs: ['{a,b}'.repeat(40)] }),
    search(/^VT_SEARCH_PATTERN/, {
      action: 'structural',
      workflow: 'rewrite',
      pattern: 'log($A)',
      rewrite: 'print($B)',
      lang: 'ts',
      path: 'd',
    }),
    ...Array.from({ length: 20 }, () =>
      search(/stay\.txt\n1:needle/, { action: 'grep', pattern: 'needle', globs: ['churn/**', 'stay.txt'] }),
    ),
    ...Array.from({ length: 10 }, () =>
      search(/stay\.txt/, { action: 'list', mode: 'recursive', globs: ['churn/**', 'stay.txt'] }),
    ),
  ])
  clearInterval(churn)
  expect(wrong).toEqual([])
  expect(treeText(join(tree.root, 'd'))).toEqual(before)
})

it('lets none of many concurrent calls out of a folder that is swapped for a link all the time', async () => {
  put('real/secret', 'inside\n')
  symlinkSync(join(tree.base, 'out'), join(tree.root, 'fake'))
  const attacker = spawn('python3', [
    join(import.meta.dirname, '../../fixtures/swap.py'),
    join(tree.root, 'real'),
    join(tree.root, 'fake'),
  ])
  await once(attacker.stdout, 'data')
  const told: string[] = []
  const work = async (of: number) => {
    for (let round = 0; round < 15; round++) {
      for (const [name, input] of [
        ['unified_file', { action: 'read', path: 'real/secret' }],
        ['unified_search', { action: 'grep', pattern: '.', path: 'real' }],
        ['unified_search', { action: 'list', mode: 'recursive', path: 'real' }],
        ['unified_file', { action: 'write', path: `real/new${of}-${round}`, content: 'x' }],
      ] as const)
        told.push(JSON.stringify(await server.call({ name, arguments: input })))
    }
  }
  await Promise.all([0, 1, 2, 3].map(work))
  attacker.stdin.end()
  await once(attacker, 'close')
  expect(told.filter((text) => text.includes('SECRET'))).toEqual([])
  expect([readdirSync(join(tree.base, 'out')), readFileSync(join(tree.base, 'out/secret'), 'utf8')]).toEqual([
    ['secret'],
    'SECRET',
  ])
  // Both ends of the race were met: some calls came in, some were refused.
  expect([told.some((text) => text.includes('inside')), told.some((text) => text.includes('"isError":true'))]).toEqual([
    true,
    true,
  ])
})

it.runIf(process.getuid?.() === 0)('deletes no folder across a file system that is mounted in it', async () => {
  for (const path of ['dir/mounted', '../other']) mkdirSync(join(tree.root, path), { recursive: true })
  writeFileSync(join(tree.base, 'other/keep'), 'keep')
  execFileSync('mount', ['--bind', join(tree.base, 'other'), join(tree.root, 'dir/mounted')])
  try {
    expect(
      await asked([
        {
          tool: 'unified_file',
          input: { action: 'delete', path: 'dir', recursive: true },
          ends: /^VT_PATH_PERMISSION: /,
        },
      ]),
    ).toEqual([])
  } finally {
    execFileSync('umount', [join(tree.root, 'dir/mounted')])
  }
  expect(readFileSync(join(tree.base, 'other/keep'), 'utf8')).toBe('keep')
})
