import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../support/program.js'
import { fc, runs } from '../../support/property.js'

const deep = (depth: number, key: string): unknown => {
  let value: unknown = { path: 'a.txt' }
  for (let at = 0; at < depth; at += 1) value = { [key]: value }
  return value
}

describe('hostile input', () => {
  it('refuses input nested thousands deep with a typed error, in any wrapping', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'a\n' } })
    for (const key of ['arguments', 'input', 'x', 'path']) {
      for (const depth of [65, 5_000, 50_000]) {
        const result = await booted.call('unified_file', { action: 'read', [key]: deep(depth, key) })
        expect(result.ok ? 'ok' : result.error.code, `${key} ${depth}`).toMatch(/^VT_INPUT_/)
        const alone = await booted.call('unified_file', deep(depth, key) as object)
        expect(alone.ok ? 'ok' : alone.error.code, `${key} ${depth}`).toMatch(/^VT_(INPUT|ACTION)_/)
      }
    }
  })

  it('refuses __proto__, constructor or prototype among known fields, in the kernel and on the command line', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'a\n' } })
    for (const name of ['__proto__', 'constructor', 'prototype', '__proto__.0', '__proto__.x', '--proto--']) {
      for (const value of ['1', '{"x":1}', '"a"', '[]']) {
        const result = await booted.call(
          'unified_file',
          JSON.parse(`{"action":"read","path":"a.txt","${name}":${value}}`),
        )
        expect(!result.ok && result.error.code, `${name} ${value}`).toBe('VT_INPUT_UNKNOWN')
      }
      const { stdout, code: status } = await vtcode(booted, [
        'call',
        'unified_file',
        'read',
        '--path',
        'a.txt',
        `--${name}`,
        '{"x":1}',
      ])
      expect([name, JSON.parse(stdout).error?.code, status === 0]).toEqual([name, 'VT_INPUT_UNKNOWN', false])
      const whole = await vtcode(booted, [
        'call',
        'unified_file',
        '--input',
        `{"action":"read","path":"a.txt","${name}":{"x":1}}`,
      ])
      expect([name, JSON.parse(whole.stdout).error?.code]).toEqual([name, 'VT_INPUT_UNKNOWN'])
    }
  })

  it('fails every call whose input has such a name at any depth', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'a\n' } })
    const strange = fc.constantFrom(
      '__proto__',
      'constructor',
      'prototype',
      'hasOwnProperty',
      'toString',
      '__proto__.a',
    )
    await fc.assert(
      fc.asyncProperty(
        strange,
        fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null),
        async (name, value) => {
          const result = await booted.call(
            'unified_file',
            JSON.parse(`{"action":"read","path":"a.txt","${name}":${JSON.stringify(value)}}`),
          )
          expect(result.ok).toBe(false)
        },
      ),
      { numRuns: runs(40) },
    )
  })

  it('refuses such a name over MCP too, where the library would drop it', async () => {
    await using place = await tempWorkspace({ 'a.txt': 'a\n' })
    const child = spawn(process.execPath, [bin, 'mcp'], {
      cwd: place.root,
      env: surroundings(place),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    try {
      const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const ask = async (message: string): Promise<any> => {
        child.stdin.write(`${message}\n`)
        return JSON.parse((await answers.next()).value)
      }
      await ask(
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}',
      )
      child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
      const calling = (more: string) =>
        ask(
          `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"unified_file","arguments":{"action":"read","path":"a.txt"${more}}}}`,
        )
      expect(await calling(',"__proto__":{"x":1}')).toMatchObject({
        id: 2,
        error: { code: -32602, message: expect.stringContaining("'__proto__'") },
      })
      expect(JSON.stringify(await calling(',"constructor":{"x":1}'))).toContain('VT_INPUT_UNKNOWN')
      expect(JSON.stringify(await calling(`,"more":${'['.repeat(2000)}${']'.repeat(2000)}`))).toContain(
        'VT_INPUT_INVALID',
      )
      expect(await calling('')).toMatchObject({ result: { content: [{ text: 'a\n' }] } })
    } finally {
      child.kill()
    }
  })
})
