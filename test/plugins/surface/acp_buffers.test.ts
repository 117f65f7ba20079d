import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { allow, editor } from '../../support/editor.js'
import { call, type Answer } from '../../support/peer.js'

const read = call('unified_file', { action: 'read', path: 'a.txt' })
const edit = call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' })

describe('buffers and servers of an editor', () => {
  it('reads the unsaved buffer, and changes the file only after it was saved', async () => {
    const buffers: Record<string, string> = {}
    const asked: string[] = []
    const answer = ({ messages }: any): Answer => {
      const { role, content } = messages.at(-1)
      if (role === 'user' && content === 'edit it') return { toolCalls: [read] }
      if (content === 'I saved it' || content.includes('three, not saved')) return { toolCalls: [edit] }
      return { content: 'Ended.' }
    }
    const unsaved = await editor(Array<typeof answer>(20).fill(answer), {
      files: { 'a.txt': 'one\ntwo\n' },
      buffer(path) {
        asked.push(path)
        return { content: buffers[path] ?? readFileSync(path, 'utf8') }
      },
    })
    const { sessionId } = await unsaved.open()
    const path = join(unsaved.place.root, 'a.txt')
    buffers[path] = 'one\ntwo\nthree, not saved\n'
    await unsaved.prompt(sessionId, 'edit it')
    const [, result, refusal] = unsaved.peer.bodies.map(({ messages }: any) => messages.at(-1).content)
    expect(result).toContain('three, not saved')
    expect(refusal).toMatch(/VT_FILE_STALE: 'a\.txt' has unsaved changes in the editor[^]*save it first/)
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
    expect(unsaved.questions).toEqual([])
    writeFileSync(path, buffers[path]!)
    await unsaved.prompt(sessionId, 'I saved it')
    expect(readFileSync(path, 'utf8')).toBe('one\n2\nthree, not saved\n')
    expect(new Set(asked)).toEqual(new Set([path]))
  })

  it('reads the part of a buffer that a call names, and of a long one the first lines', async () => {
    const of = (more: object) => call('unified_file', { action: 'read', path: 'a.txt', ...more })
    const lines = Array.from({ length: 3000 }, (_, at) => `line ${at + 1} of the unsaved text`)
    const calls = [{}, { offset_lines: 5 }, { offset_lines: 5, end_line: 6 }, { offset_bytes: 5, page_size_bytes: 4 }]
    const results: string[] = []
    const steps = calls.map((more) => ({ toolCalls: [of(more)] }))
    const answer = ({ messages }: any): Answer => {
      results.push(messages.at(-1).content)
      return steps.shift() ?? { content: 'Ended.' }
    }
    const unsaved = await editor(Array<typeof answer>(20).fill(answer), {
      files: { 'a.txt': 'one\n'.repeat(3000) },
      buffer: () => ({ content: `${lines.join('\n')}\n` }),
    })
    await unsaved.prompt((await unsaved.open()).sessionId, 'read it')
    const [whole, page, two, bytes] = [...new Set(results)].slice(1) as [string, string, string, string]
    expect(whole.length).toBeLessThan(50_000)
    const [, last, next] = /\[unsaved text of the editor: lines 1-(\d+) of 3000; next offset_lines=(\d+)\]/.exec(whole)!
    expect(Number(next)).toBe(Number(last) + 1)
    expect(whole).toContain(`${lines[Number(last) - 1]}\n[`)
    expect(page).toContain(`${lines[403]}\n[unsaved text of the editor: lines 5-404 of 3000; next offset_lines=405]`)
    expect(two).toContain(`${lines[4]}\n${lines[5]}\n[unsaved text of the editor: lines 5-6 of 3000`)
    expect(bytes).toMatch(/^1 of\n\[unsaved text of the editor: bytes 5-9 of \d+\]/)
  })

  it('works without buffers of an editor that announces them and has none, and asks for none outside the workspace', async () => {
    const outside = call('unified_file', { action: 'read', path: '../secret.txt' })
    const asked: string[] = []
    const lying = await editor([{ toolCalls: [read] }, { toolCalls: [outside] }, { content: 'Done.' }], {
      files: { 'a.txt': 'one\n' },
      buffer(path) {
        asked.push(path)
        throw new Error('no such buffer')
      },
    })
    const { sessionId } = await lying.open()
    expect(await lying.prompt(sessionId, 'read them')).toEqual({ stopReason: 'end_turn' })
    const [, result, refusal] = lying.peer.bodies.map(({ messages }: any) => messages.at(-1).content)
    expect(result).toContain('one')
    expect(refusal).toContain('VT_PATH_OUTSIDE')
    expect(asked).toEqual([join(lying.place.root, 'a.txt')])
  })

  it('starts a program of the editor only after consent, and calls its tools', async () => {
    const answers = ['skip', 'start']
    const server = {
      name: 'notes',
      command: process.execPath,
      args: [join(import.meta.dirname, '../../fixtures/mcp/answers.mjs')],
      env: [
        { name: 'SECRET', value: 'not-shown-0123' },
        { name: 'LONG', value: `${'-'.repeat(400)}the-end` },
      ],
    }
    const served = await editor([{ content: 'One.' }, { content: 'Two.' }], { permit: () => allow(answers.shift()) })
    for (const name of ['refused', 'agreed']) {
      const { sessionId } = await served.open(served.place.root, [{ ...server, name: `${server.name}_${name}` }])
      await served.prompt(sessionId, 'hello')
    }
    const [first] = served.questions
    expect(first.toolCall.title).toContain('answers.mjs')
    expect(JSON.stringify(first.toolCall.content)).toContain('SECRET=…')
    expect(JSON.stringify(first.toolCall.content)).toMatch(/LONG=-+ … \(407 characters\) … -+the-end/)
    expect(JSON.stringify(served.questions)).not.toContain('not-shown-0123')
    const [without, withTools] = served.peer.bodies.map((body: any) => JSON.stringify(body.tools))
    expect(without).not.toContain('notes_refused')
    expect(withTools).toContain('notes_agreed')
  })
  it('asks for a server with an address too, and takes its texts literally', async () => {
    const heard: string[] = []
    const listener = createServer((request, response) => {
      heard.push(`${request.url} ${request.headers['x-marker']}`)
      response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/mcp?a=\${HOME}`
    const server = { type: 'http', url, headers: [{ name: 'x-marker', value: '${HOME} $$' }] }
    const answers = ['skip', 'start']
    const served = await editor([{ content: 'One.' }, { content: 'Two.' }], { permit: () => allow(answers.shift()) })
    for (const name of ['refused', 'agreed']) {
      const { sessionId } = await served.open(served.place.root, [{ ...server, name }])
      await served.prompt(sessionId, 'hello')
      if (name === 'refused') expect(heard).toEqual([])
    }
    listener.close()
    expect(served.questions[0].toolCall.title).toContain(url)
    expect(heard[0]).toMatch(/^\/mcp\?a=(?:\$\{HOME\}|\$%7BHOME%7D) \$\{HOME\} \$\$$/)
  })
  it('shows a write that appends as the whole text after it', async () => {
    const append = call('unified_file', { action: 'write', path: '.envrc', content: 'two\n', mode: 'append' })
    const served = await editor([{ toolCalls: [append] }, { content: 'Done.' }], {
      files: { '.envrc': 'one\n' },
      permit: () => allow('allow'),
    })
    const { sessionId } = await served.open()
    await served.prompt(sessionId, 'append')
    expect(served.questions[0].toolCall.content[0]).toMatchObject({ oldText: 'one\n', newText: 'one\ntwo\n' })
    expect(await served.place.read('.envrc')).toBe('one\ntwo\n')
  })
})
