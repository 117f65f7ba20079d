import {
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  mkdirSync,
  lstatSync,
  existsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  formatDifference,
  readOwnFile,
  requireInside,
  draftSettings,
  findSettingsFile,
  writeDraft,
} from '../../../../build/plugins/lib/own_files/index.js'

const folder = (): string => mkdtempSync(join(tmpdir(), 'own-'))
const settings = async (name: string, text: string | undefined, values: object) => {
  const file = join(folder(), name)
  if (text !== undefined) writeFileSync(file, text)
  return draftSettings(file, values as Record<string, unknown>)
}

describe('settings file', () => {
  it('sets a value at a path and keeps the rest with its comments', async () => {
    expect((await settings('vtcode.config.yaml', undefined, { 'agent.model': 'a/b' })).after).toBe(
      'agent:\n  model: a/b\n',
    )
    const text =
      '# mine\npolicy: { mode: ask } # careful\nagent:\n  # a choice\n  model: x/y\n  reasoning_effort: high\n'
    const { before, after } = await settings('vtcode.config.yaml', text, { 'agent.model': 'a/b' })
    expect([before, after]).toEqual([text, text.replace('x/y', 'a/b')])
    expect((await settings('vtcode.config.json', '{"policy":{"mode":"ask"}}', { 'agent.model': 'a/b' })).after).toBe(
      '{\n  "policy": {\n    "mode": "ask"\n  },\n  "agent": {\n    "model": "a/b"\n  }\n}\n',
    )
  })
  it.each<[text: string, path: string, value: unknown, after: string]>([
    ['model: local/old # why\n', 'model', 'local/new', 'model: local/new # why\n'],
    ['a:   1\nb:    two   # why\n', 'b', 3, 'a:   1\nb:    3   # why\n'],
    ['agent: # mine\n    model: x/y   # why\n', 'agent.model', 'a/b', 'agent: # mine\n    model: a/b   # why\n'],
    ["agent: {model: 'x/y'}  # flow\nb: 1\n", 'b', 2, "agent: {model: 'x/y'}  # flow\nb: 2\n"],
    ['a: "x" # why\r\nb: 1\r\n', 'a', 'y', 'a: y # why\r\nb: 1\r\n'],
    ['a: 1', 'b', 2, 'a: 1\nb: 2'],
    ['a: 1 # one\n# the end\n', 'b', 2, 'a: 1 # one\nb: 2\n# the end\n'],
    ['# only a comment\n', 'b', 2, '# only a comment\nb: 2\n'],
    ['a:\n- x\n-   y # why\n', 'b.c', 2, 'a:\n- x\n-   y # why\nb:\n  c: 2\n'],
    ['a:\n    b: 1 # one\n\n# about c\nc: 2\n', 'a.d', 3, 'a:\n    b: 1 # one\n    d: 3\n\n# about c\nc: 2\n'],
    ['a:\n  b: |\n    # text\n    more\nc: 1\n', 'a.d', 3, 'a:\n  b: |\n    # text\n    more\n  d: 3\nc: 1\n'],
    ['a:\n  b:\n    c: 1\nd: 2 # two\n', 'a.b.e', ['x'], 'a:\n  b:\n    c: 1\n    e:\n      - x\nd: 2 # two\n'],
    ['a: 1 # one\nb: 2 # two\n# about c\nc: 3\n', 'b', undefined, 'a: 1 # one\n# about c\nc: 3\n'],
    ['a:\n  b: 1\n  c: 2   # two\n', 'a.b', undefined, 'a:\n  c: 2   # two\n'],
    ['a:\n  b: 1\n\n# about c\nc:   3\n', 'a.b', undefined, '\n# about c\nc:   3\n'],
    ['# top\na: |\n  text\n\nb:  [1,2]\n', 'a', undefined, '# top\n\nb:  [1,2]\n'],
    ['a: 1\nb: 2 # two', 'b', undefined, 'a: 1\n'],
    ['a: { x: 1 }   # flow\nb:\n  - c: 1 # item\n', 'b', undefined, 'a: { x: 1 }   # flow\n'],
    ['a: 1   # one\nb:   2\n', 'c', undefined, 'a: 1   # one\nb:   2\n'],
    ['yes: on # text\na: 1\n', 'a', true, 'yes: on # text\na: true\n'],
  ])('changes no byte of other lines: %j, %s', async (text, path, value, after) => {
    expect((await settings('vtcode.config.yaml', text, { [path]: value })).after).toBe(after)
  })
  it('removes a value and what is empty then', async () => {
    expect(
      (await settings('vtcode.config.yaml', 'agent:\n  model: a/b\n', { 'agent.model': undefined })).after,
    ).toBeUndefined()
    expect(
      (
        await settings('vtcode.config.yaml', 'agent:\n  model: a/b\npolicy:\n  mode: ask\n', {
          'agent.model': undefined,
        })
      ).after,
    ).toBe('policy:\n  mode: ask\n')
  })
  it.each([
    ['code', 'vtcode.config.ts', 'export default {}', /written in code/],
    ['a list', 'vtcode.config.yaml', '- a\n', /holds no settings/],
    ['broken', 'vtcode.config.yaml', 'agent: [\n', /cannot be read/],
    ['something else in the way', 'vtcode.config.yaml', 'agent: off\n', /'agent' holds no settings/],
  ])('refuses a settings file that is %s', async (_, name, text, said) => {
    await expect(settings(name, text, { 'agent.model': 'a/b' })).rejects.toThrow(said)
  })
  it('uses the existing settings file', () => {
    const at = folder()
    expect(findSettingsFile(at)).toBe(join(at, 'vtcode.config.yaml'))
    writeFileSync(join(at, 'vtcode.config.json'), '{}')
    expect(findSettingsFile(at)).toBe(join(at, 'vtcode.config.json'))
  })
})

describe('writeDraft', () => {
  it('writes the whole file through a link of the user and keeps its mode', () => {
    const at = folder()
    writeFileSync(join(at, 'real'), 'old\n', { mode: 0o600 })
    symlinkSync(join(at, 'real'), join(at, 'link'))
    writeDraft({ file: join(at, 'link'), before: 'old\n', after: 'new\n' })
    expect([
      readFileSync(join(at, 'real'), 'utf8'),
      statSync(join(at, 'real')).mode & 0o777,
      lstatSync(join(at, 'link')).isSymbolicLink(),
    ]).toEqual(['new\n', 0o600, true])
    writeDraft({ file: join(at, 'deep/er/file'), before: undefined, after: 'x' })
    writeDraft({ file: join(at, 'deep/er/file'), before: 'x', after: undefined })
    expect(existsSync(join(at, 'deep/er/file'))).toBe(false)
  })
  it('leaves a file unchanged that differs from the shown one', () => {
    const at = folder()
    writeFileSync(join(at, 'a'), 'of somebody else\n')
    expect(() => writeDraft({ file: join(at, 'a'), before: 'old\n', after: 'new\n' })).toThrow(
      /changed during the question/,
    )
    expect(() => writeDraft({ file: join(at, 'a'), before: undefined, after: 'new\n' })).toThrow(
      /changed during the question/,
    )
    expect(readOwnFile(join(at, 'a'))).toBe('of somebody else\n')
  })
  it('shows removed and added lines without control characters', () => {
    const io = { stdout: {}, env: {} } as never
    expect(formatDifference({ file: '/a', before: 'x\nb\ny\n', after: 'x\n\u001b[2Jc\ny\n' }, io)).toMatch(
      /^\/a\n {2}x\n- b\n\+ \S*\[2Jc\n {2}y\n$/,
    )
    expect(formatDifference({ file: '/a', before: 'b\n', after: '\u001b[2Jc\n' }, io)).not.toContain('\u001b')
  })
  it('refuses a path that a workspace leads out of itself', () => {
    const at = folder()
    mkdirSync(join(at, 'w'))
    symlinkSync(at, join(at, 'w/out'))
    expect(() => requireInside(join(at, 'w'), join(at, 'w/out/file'))).toThrow(/leads out of the workspace/)
    requireInside(join(at, 'w'), join(at, 'w/in/file'))
  })
})
