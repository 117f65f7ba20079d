import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { hasTest } from './titles.js'
import { root, textOf } from './sources.js'

const rows = new Map(
  [...textOf('test/conformance/security_cases.md').matchAll(/^\| (\d+)(★?) \|/gm)].map(([, row, star]) => [
    Number(row),
    star === '★',
  ]),
)

interface Proof {
  title: string
  cases: number[]
  faces: 'all' | string[]
}
const proofs = Object.entries(parse(textOf('test/conformance/security_cases.yaml')) as Record<string, Proof[]>).flatMap(
  ([file, all]) => all.map((proof) => ({ file: `test/${file}`, ...proof })),
)
const all = ['library', 'cli', 'stdio', 'http']

/** Patterns by which a test file uses a surface. */
const asks: Record<string, RegExp> = {
  library:
    /bootKernel|support\/(?:exec|pages|remote|entries|inside)|createKernel|openWorkspace|support\/faces|Server\.start|build\/(?:core|plugins)\//,
  cli: /vtcode\(|support\/faces|support\/program|spawn\(process\.execPath/,
  stdio: /StdioClientTransport|support\/faces|support\/(?:server|session|frames)|'mcp'/,
  http: /StreamableHTTP|support\/faces|support\/mcp_http|'--http'/,
  agent: /support\/(?:peer|wire_server|inside)|createAgent/,
}

/**
 * Rows of the release gate that no call through a surface can show: faults that are put into system calls, programs that are killed at a step,
 * measures of a long-running process, and cases without a tool call. Each is proved below the surfaces. The list may only become shorter.
 */
const below: Record<number, string> = {
  37: 'the mode at each instant is seen by tracing the process',
  38: 'a full disk is mounted under the process',
  40: 'errors are put into system calls of the process',
  43: 'two processes edit one file',
  55: 'attributes and owners belong to the file system',
  68: 'errors are put into system calls of the process',
  106: 'a preview of a thousand files is one search for each face',
  119: 'descriptors, memory and zombies are those of one process',
  149: 'holds by the sandbox, below every face',
  157: 'a resolver of the test answers, which a program of its own does not ask',
  158: 'a resolver of the test answers, which a program of its own does not ask',
  163: 'a server on a private address, which only a rule of the test opens',
  164: 'a server on a private address, which only a rule of the test opens',
}

describe('hostile cases', () => {
  it('requires a test for each hostile case, and a case for each test', () => {
    expect(rows.size).toBe(170)
    const proved = new Set(proofs.flatMap(({ cases }) => cases))
    expect([...rows.keys()].filter((row) => !proved.has(row))).toEqual([])
    expect([...proved].filter((row) => !rows.has(row))).toEqual([])
  })
  it('finds each test of the table by file and title', () => {
    expect(proofs.filter(({ file, title }) => !existsSync(join(root, file)) || !hasTest(file, title))).toEqual([])
  })
  it('checks that each test uses the surfaces that the table names', () => {
    const wrong = proofs.flatMap(({ file, faces }) =>
      (faces === 'all' ? all : faces)
        .filter((face) => !asks[face]?.test(textOf(file)))
        .map((face) => `${file} ${face}`),
    )
    expect(wrong).toEqual([])
  })
  it('tests release cases about tool calls through every surface, except for those below the surfaces', () => {
    const everywhere = new Set(proofs.flatMap(({ cases, faces }) => (faces === 'all' ? cases : [])))
    const calls = [...rows].filter(([row, star]) => star && row < 172).map(([row]) => row)
    expect(calls.filter((row) => !everywhere.has(row))).toEqual(Object.keys(below).map(Number))
  })
})
