import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { changeCases, layOut, leftIn, type ChangeCase, type Step } from '../../support/changes.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

interface Answer {
  ok: boolean
  error?: { code: string; details?: object }
}

// No surface may be a way around the writer: the same table through each of them.
describe('the hostile changes', () => {
  let home: TempWorkspace
  let count = 0
  beforeAll(async () => {
    home = await tempWorkspace()
    mkdirSync(join(home.root, '../out'), { recursive: true })
  })
  afterAll(() => home[Symbol.asyncDispose]())

  /** Plays a case through `call` and looks at the answer and at the files; what is wrong, if anything. */
  async function play(one: ChangeCase, root: string, call: (step: Step) => Promise<Answer>): Promise<unknown> {
    const name = `c${count++}`
    const folder = join(root, name)
    layOut(one, folder)
    let answer: Answer = { ok: true }
    for (const step of one.steps(name)) {
      if (typeof step === 'function') step(folder)
      else answer = await call(step)
    }
    const { found, expected } = leftIn(one, folder)
    try {
      expect(answer.ok ? 'ok' : answer.error?.code).toBe(one.answer)
      if (!answer.ok) matches(answer.error, { ...one.error, details: { ...(one.error as Answer['error'])?.details, not_applied: true } })
      expect(found).toEqual(expected)
      return undefined
    } catch (error) {
      return { row: one.row, title: one.title, answer, message: (error as Error).message }
    }
  }
  const wrong = (all: unknown[]) => all.filter((one) => one !== undefined)

  it('end as they must in the library', async () => {
    await using booted = await bootKernel({ mode: 'auto' })
    const all = []
    for (const one of changeCases) {
      const session = `case-${count}`
      all.push(await play(one, booted.root, ([tool, input]) => booted.call(tool, input, { session }) as Promise<Answer>))
    }
    expect(wrong(all)).toEqual([])
  })

  it('end as they must over MCP', async () => {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp', '--workspace', home.root], env: surroundings(home) }),
    )
    const all = []
    for (const one of changeCases) {
      const call = async ([name, input]: Step): Promise<Answer> => {
        const { isError, structuredContent } = await client.callTool({ name, arguments: input })
        return { ok: !isError, ...(structuredContent as object) }
      }
      all.push(await play(one, home.root, call))
    }
    await client.close()
    expect(wrong(all)).toEqual([])
  })

  it('end as they must at the command line', async () => {
    const left = changeCases.filter(({ session }) => !session)
    const all: unknown[] = []
    const call = async ([tool, input]: Step): Promise<Answer> => {
      const { stdout } = await vtcode(home, ['call', '--workspace', home.root, '--mode', 'auto', tool, '--input', '-'], {
        stdin: JSON.stringify(input),
      })
      return JSON.parse(stdout)
    }
    const work = async () => {
      for (let one = left.shift(); one; one = left.shift()) all.push(await play(one, home.root, call))
    }
    await Promise.all([work(), work(), work()])
    expect(wrong(all)).toEqual([])
    expect(readdirSync(join(home.root, '../out'))).toEqual([])
  })
})
