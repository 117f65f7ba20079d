import { bootKernel, type Boot, type Booted } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { plainVocabulary, renderTemplate, type Vocabulary } from '../../../build/core/input/index.js'

const files = { 'src/a.txt': 'x\n' }
const boot = (how: Boot = {}) => bootKernel({ files, mode: 'auto', ...how })
const hintOf = async (booted: Booted, tool: string, input: object): Promise<string> => {
  const result = await booted.call(tool, input, { session: `${tool} ${JSON.stringify(input)}` })
  return result.ok ? '' : result.error.hint
}

describe('tool names in hints', () => {
  it('names tools by their own names when the tool was called by its own name', async () => {
    await using booted = await boot()
    expect(await hintOf(booted, 'unified_file', { action: 'read', path: 'src' })).toBe(
      'List it with unified_search list.',
    )
    expect(await hintOf(booted, 'unified_exec', { action: 'poll', session_id: 'run-00000000' })).toContain(
      'List the commands with `unified_exec list`.',
    )
  })

  it('names tools in the dialect of the call', async () => {
    await using booted = await boot({ config: { policy: { allow: ['net'] } } as never })
    expect(await hintOf(booted, 'read_file', { path: 'src' })).toBe('List it with list_files.')
    expect(await hintOf(booted, 'read_file_range', { path: 'gone', start_line: 1 })).toBe(
      'List the existing files with list_searchable_files.',
    )
    expect(await hintOf(booted, 'read_url', { url: 'file:///etc/hosts' })).toBe(
      'Read files of the workspace with read_file_range.',
    )
    // A tool that has no word in the dialect keeps its own name.
    expect(await hintOf(booted, 'run_shell', { program: 'touch', args: ['z'] })).toMatch(
      /^Nothing was done\. Use list_searchable_files or read_file_range to inspect the workspace, or request_user_input to ask the user\. /,
    )
  })

  it('names tools by their listed names, also with one tool for each action', async () => {
    await using booted = await boot({ dialects: ['each'] })
    expect(await hintOf(booted, 'unified_file_read', { path: 'src' })).toBe('List it with unified_search_list.')
    await using classic = await boot({ dialects: ['classic'] })
    expect(await hintOf(classic, 'read_file', { path: 'src' })).toBe('List it with list_files.')
    expect(await hintOf(classic, 'run_terminal_cmd', { command: ['touch', 'z'] })).not.toMatch(
      /unified_|request_user_input|\{(?:slot|tool):/,
    )
  })

  it('leaves out tools that are not served', async () => {
    await using booted = await boot({ config: { use: { 'unified_search/list': false } } as never })
    expect(await hintOf(booted, 'unified_file', { action: 'read', path: 'src' })).toBe('')
  })

  it("names tools in the caller's dialect, however deep the failed call is nested", async () => {
    await using booted = await boot({ files: { ...files, 'blob.ts': '\0' } })
    expect(await hintOf(booted, 'grep_search', { mode: 'similarity', reference_file: 'gone.ts' })).toBe(
      'List the existing files with list_files.',
    )
  })

  it('leaves no template markers in any hint or answer', async () => {
    await using booted = await boot()
    const { verdict, hint } = await booted.kernel.explain('unified_file', { action: 'read', path: '../x' })
    expect([verdict, hint]).toEqual(['refused', expect.not.stringMatching(/\{(?:slot|tool):/)])
    for (const info of booted.kernel.list())
      for (const { hint = '' } of Object.values(info.errors))
        expect(renderTemplate(hint, plainVocabulary)).not.toMatch(/\{(?:slot|tool):/)
  })
})

describe('hint templates', () => {
  const some: Vocabulary = {
    slot: (id, how) => (id === 'gone' ? undefined : plainVocabulary.slot(id, how)),
    field: (name) => (name === 'gone' ? undefined : name),
    call: plainVocabulary.call,
  }
  it('drops each sentence about a missing slot, and each line that becomes empty', () => {
    expect(renderTemplate('Read {tool:a/b}. Call {slot:gone}.', some)).toBe('Read a.')
    expect(renderTemplate('Call {slot:gone}; or read {slot:a/b}. Then go on.', some)).toBe('Then go on.')
    expect(renderTemplate('Give {field:more}, or {field:gone}: true.', some)).toBe('')
    expect(renderTemplate('Reads.\nSee {slot:gone}.\n\nFor v1.2 call {slot:a/b}.', some)).toBe(
      'Reads.\n\nFor v1.2 call a b.',
    )
  })
  it('leaves malformed template markers as plain text', () => {
    for (const text of ['{slot:', '{slot:a/b', '{slot:a/b nonsense}', '{slot:a/b {}}', '{ slot:a }', '{slot:A}'])
      expect(renderTemplate(text, some)).toBe(text)
  })
  it('resolves each name once, however often a text repeats it', () => {
    let asked = 0
    const counting: Vocabulary = { ...some, slot: (id) => (asked++, some.slot(id)) }
    expect(renderTemplate('{slot:a/b}'.repeat(80_000), counting)).toBe('a b'.repeat(80_000))
    expect(asked).toBe(1)
  })
})
