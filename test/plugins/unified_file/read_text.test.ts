import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

const lines = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i + 1} of a long file that goes on for a while yet\n`).join('')
const shown = async (content: string, input: object = {}) => {
  await using vt = await bootKernel({ files: { 'a.txt': content } })
  const result = await vt.call('unified_file', { action: 'read', path: 'a.txt', ...input })
  if (!result.ok) throw new Error(result.error.message)
  return { text: result.text, output: result.output }
}

describe('unified_file/read: text for the model', () => {
  it('returns the whole file as a value and shows a model the first 48 KiB of whole lines with the next offset', async () => {
    const whole = lines(2_000)
    const { text = '', output } = await shown(whole)
    expect(output).toMatchObject({ content: whole, truncated: false, has_more: false, end_line: 2_000 })
    const [, last, next] = /\[lines 1-(\d+) of 2000; next offset_lines=(\d+)\]$/.exec(text)!
    expect(Number(next)).toBe(Number(last) + 1)
    expect(text.startsWith(whole.split('\n').slice(0, Number(last)).join('\n') + '\n[')).toBe(true)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(48 * 1024 + 60)
    expect(Buffer.byteLength(text)).toBeGreaterThan(47 * 1024)
  })

  it('shows both ends of a line over 2,000 characters, its length and the byte offset that reads it', async () => {
    const long = `begin${'x'.repeat(5_000)}end`
    const { text = '', output } = await shown(`é first\n${long}\nlast\n`)
    expect(output.content).toContain(long)
    expect(text).toMatch(
      /^é first\nbeginx{895}… \(a line of 5008 characters; offset_bytes=9 reads it\) …x{897}end\nlast\n$/,
    )
    expect((await shown(`é first\n${long}\n`, { offset_bytes: 9, page_size_bytes: 5 })).text).toMatch(/^begin/)
  })

  it('shows a short file whole, and a requested range whole', async () => {
    const whole = lines(2_000)
    expect((await shown('one\ntwo')).text).toBe('one\ntwo')
    expect((await shown(whole, { offset_lines: 1, page_size_lines: 2_000 })).text).toBe(whole)
    const long = `${'x'.repeat(5_000)}\n`
    expect((await shown(long, { offset_lines: 1 })).text).toBe(long)
  })

  it('limits the detailed value like the text, and returns a requested range whole', async () => {
    const whole = lines(2_000)
    const { text = '', output } = await shown(whole, { response_format: 'detailed' })
    expect(output).toMatchObject({ content: whole, eol: 'lf' })
    expect(text.length).toBeLessThan(50_000)
    expect(JSON.parse(text)).toMatchObject({
      path: 'a.txt',
      eol: 'lf',
      truncated: true,
      content: expect.stringMatching(/^line 1 of[^]*characters left out\)$/),
    })
    expect(
      (await shown(whole, { response_format: 'detailed', offset_lines: 1, page_size_lines: 2_000 })).text,
    ).toBeUndefined()
  })
})

describe('size of answers', () => {
  it('outlines a file of 200 lines in at most 300 bytes', async () => {
    const body = Array.from(
      { length: 12 },
      (_, i) => `  method${i}(a: number) {\n${'    this.count += a\n'.repeat(10)}    return a\n  }\n`,
    )
    await using vt = await bootKernel({
      files: {
        'a.ts': `export class Thing {\n  count = 0\n${body.join('')}}\n\nexport function main() {\n${'  run()\n'.repeat(30)}}\n`,
      },
    })
    const result = await vt.call('unified_search', { action: 'outline', path: 'a.ts' })
    expect(Buffer.byteLength((result.ok && result.text) || 'x'.repeat(1_000))).toBeLessThanOrEqual(300)
  })

  it('shows no empty capture in a structural search', async () => {
    await using vt = await bootKernel({ files: { 'a.ts': 'run()\nrun(1)\n' } })
    const result = await vt.call('unified_search', { action: 'structural', pattern: 'run($$$ARGS)', lang: 'ts' })
    expect(result.ok && result.text).toMatch(/\$ARGS = 1\n/)
    expect(result.ok && result.text).not.toMatch(/= *$/m)
  })

  it('shows the given input and the workdir in an approval question, and no field with its default', async () => {
    await using vt = await bootKernel({ mode: 'ask' })
    const asked: string[] = []
    await vt.call(
      'unified_file',
      { action: 'write', path: 'b.txt', content: 'x' },
      { approve: ({ question }) => void asked.push(question) },
    )
    await vt.call(
      'unified_exec',
      { action: 'run', command: 'touch c' },
      { approve: ({ question }) => void asked.push(question) },
    )
    expect(asked[0]).toContain('content: x')
    expect(asked[1]!.split('\n').filter((line) => /^  [a-z_]+:/.test(line))).toEqual([
      '  workdir: .',
      '  command: touch c',
    ])
  })

  it('suggests the three nearest names for an unknown tool', async () => {
    await using vt = await bootKernel()
    const { error } = (await vt.call('read_text_file', {})) as unknown as { error: { code: string; message: string } }
    expect(error.code).toBe('VT_TOOL_UNKNOWN')
    expect(error.message).toMatch(/^Tool "read_text_file" not found; nearest: \w+, \w+, \w+\.$/)
    expect(error.message).toContain('unified_file_read')
  })
})
