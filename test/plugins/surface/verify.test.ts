import { existsSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../build/core/system/index.js'
import { toCanonicalJson } from '../../../build/core/trust/index.js'
import { holdForFile } from '../../support/held.js'
import { hold } from '../../support/inside.js'
import { call, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'
import { typing } from '../../support/terminal.js'

const write = (path: string, content: string): Answer => ({
  toolCalls: [call('unified_file', { action: 'write', path, content })],
})
const done: Answer = { content: 'Done.' }

interface Certified {
  at: Home
  text: string
  certificate: any
}
/** A run whose work `cat made.txt` proves, and its certificate in a file. */
let one: Promise<Certified> | undefined
const certified = (): Promise<Certified> => (one ??= certify())
async function certify(): Promise<Certified> {
  const peer = holdForFile(await startPeer([write('made.txt', 'one\n'), done]))
  const at = holdForFile(await home(peer, {}, { settings: { agent: { model: 'peer/m' }, sandbox: { mode: 'off' } } }))
  expect(
    (await vtcode(at, ['exec', '--quiet', '--session-id', 'ses_one', '--verify', 'cat made.txt', 'go'])).code,
  ).toBe(0)
  const { code, out } = await vtcode(at, ['sessions', 'show', 'ses_one', '--certificate'])
  expect(code).toBe(0)
  writeFileSync(join(at.root, 'certificate.json'), out)
  return { at, text: out, certificate: JSON.parse(out) }
}

/** The program at a terminal, with what is typed at its questions. */
async function atTerminal(at: Home, args: string[], answers: string[]): Promise<{ code: number; shown: string }> {
  const { terminal, end } = await typing(at, args)
  let shown = ''
  let asked = 0
  terminal.onData((data) => {
    shown += data
    for (const questions = shown.split(/\[y\/N[^\]]*\] /).length - 1; asked < questions; asked++)
      terminal.write(`${answers[asked] ?? 'n'}\r`)
  })
  return { code: (await end()).code, shown }
}

describe('a certificate', () => {
  it('names commands, files, model and prompt that proved the work, under its own digest', async () => {
    const { certificate, text } = await certified()
    expect(certificate).toMatchObject({
      type: 'vtcode.certificate',
      version: 1,
      session_id: 'ses_one',
      model: 'peer/m',
      prompt_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      result: 'passed',
      tracker: null,
      commands: [{ command: 'cat made.txt', exit_code: 0, timed_out: false }],
      files: [{ path: 'made.txt', sha256: '2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806' }],
    })
    expect(text).toBe(`${JSON.stringify(certificate)}\n`)
  })
  it('refuses a certificate for a session that proved nothing', async () => {
    const at = hold(await home(hold(await startPeer([done]))))
    await vtcode(at, ['exec', '--quiet', '--session-id', 'ses_two', 'go'])
    expect(await vtcode(at, ['sessions', 'show', 'ses_two', '--certificate'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('VT_CERTIFICATE_NONE'),
    })
  })
})

describe('vtcode verify', () => {
  it('runs nothing without a terminal', async () => {
    const { at } = await certified()
    const { code, out, err } = await vtcode(at, ['verify', 'certificate.json'])
    expect(code).toBe(1)
    expect(out).toMatch(
      /^Session ses_one, .*, peer\/m: passed\ncat made\.txt +exit 0 +run\nnot run: cat made\.txt\n1 files and 0 of 1 commands are unchanged\.\n$/,
    )
    expect(err).toContain('`vtcode verify` asks at a terminal first')
  })
  it('asks at a terminal, runs the commands again and reports differences', async () => {
    const { at } = await certified()
    const good = await atTerminal(at, ['verify', 'certificate.json'], ['y'])
    expect([good.code, good.shown]).toEqual([0, expect.stringContaining('1 files and 1 of 1 commands are unchanged.')])
    writeFileSync(join(at.root, 'made.txt'), 'two\n')
    const other = await atTerminal(at, ['verify', 'certificate.json'], ['y'])
    expect(other.code).toBe(1)
    expect(other.shown).toContain('different: made.txt: changed')
    expect(other.shown).toContain('different: cat made.txt: printed something else')
    const no = await atTerminal(at, ['verify', 'certificate.json'], ['n'])
    expect([no.code, no.shown]).toEqual([1, expect.stringContaining('not run: cat made.txt')])
    writeFileSync(join(at.root, 'made.txt'), 'one\n')
  })
  it.each<[string, (text: string) => string, string]>([
    ['altered by one byte', (text) => text.replace('"exit_code":0', '"exit_code":1'), 'VT_CERTIFICATE_DAMAGED'],
    ['with another command', (text) => text.replace('cat made.txt', 'touch pwned!'), 'VT_CERTIFICATE_DAMAGED'],
    ['without a member', (text) => text.replace(/"result":"passed",/, ''), 'VT_CERTIFICATE_INVALID'],
    ['that is no JSON', () => 'hello', 'VT_CERTIFICATE_INVALID'],
    ['that is a list', () => '[]', 'VT_CERTIFICATE_INVALID'],
    ['of a later version', (text) => text.replace('"version":1', '"version":2'), 'VT_CERTIFICATE_INVALID'],
  ])('refuses a certificate %s', async (_, change, code) => {
    const { at, text } = await certified()
    writeFileSync(join(at.root, 'other.json'), change(text))
    const ran = await atTerminal(at, ['verify', 'other.json'], ['y', 'y'])
    expect([ran.code, ran.shown]).toEqual([1, expect.stringContaining(code)])
    expect(existsSync(join(at.root, 'pwned!'))).toBe(false)
  })
  it('runs no denied or unapproved command of a forged certificate, and follows no path outside', async () => {
    const { at, certificate } = await certified()
    const { digest: _, ...body } = certificate
    const forge = (name: string, more: object): void => {
      const whole = { ...body, ...more }
      writeFileSync(join(at.root, name), toCanonicalJson({ ...whole, digest: sha256(toCanonicalJson(whole)) }))
    }
    const ran = (command: string) => ({ ...certificate.commands[0], command })
    forge('denied.json', { session_id: 'ses_elsewhere', commands: [ran(`rm -rf ${at.home}`), ran('rm -rf .')] })
    const denied = await atTerminal(at, ['-c', 'policy.deny=["Bash(rm *)"]', 'verify', 'denied.json'], ['y', 'y', 'y'])
    expect([denied.code, existsSync(join(at.root, 'made.txt')), existsSync(at.env['VTCODE_HOME']!)]).toEqual([
      1,
      true,
      true,
    ])
    for (const said of [
      'This workspace has no session ses_elsewhere',
      `not run: rm -rf ${at.home}`,
      'not run: rm -rf .',
    ])
      expect(denied.shown).toContain(said)
    expect(denied.shown).toMatch(/rm -rf \. +exit 0 +deny/)
    // One question names all commands; a no runs none of them.
    forge('asked.json', { commands: [ran('rm made.txt')] })
    const asked = await atTerminal(at, ['verify', 'asked.json'], ['n'])
    expect([asked.code, existsSync(join(at.root, 'made.txt'))]).toEqual([1, true])
    // A line break is shown as a blank, so the answer to the list does not cover such a command.
    forge('lines.json', { commands: [ran('rm\nmade.txt'), ran('rm \\\nmade.txt')] })
    const lines = await atTerminal(at, ['verify', 'lines.json'], ['y', 'n', 'n'])
    expect([lines.code, existsSync(join(at.root, 'made.txt'))]).toEqual([1, true])
    expect(lines.shown.match(/Do it, or why not\?/g)).toHaveLength(2)
    for (const path of ['../secret', '/etc/passwd', 'a/../../b', 'C:\\x']) {
      forge('out.json', { files: [{ path, sha256: null }] })
      expect(await vtcode(at, ['verify', 'out.json'])).toMatchObject({
        code: 1,
        err: expect.stringMatching(/VT_CERTIFICATE_INVALID: .* leads outside the workspace/),
      })
    }
    symlinkSync('/etc', join(at.root, 'linked'))
    forge('link.json', { files: [{ path: 'linked/hostname', sha256: null }] })
    expect((await vtcode(at, ['verify', 'link.json'])).out).not.toContain('different')
    forge('ansi.json', { commands: [ran('echo \u001b[2Jgone')] })
    expect((await vtcode(at, ['verify', 'ansi.json'])).out).not.toContain('\u001b')
  })
  it('reads a certificate anywhere, refuses one of 1 GB and a file that is none', async () => {
    const { at, text } = await certified()
    const elsewhere = join(at.home, 'certificate.json')
    writeFileSync(elsewhere, text)
    for (const path of [elsewhere, relative(at.root, elsewhere)])
      expect((await vtcode(at, ['verify', path])).out).toContain('Session ses_one')
    writeFileSync(join(at.root, 'large.json'), '')
    truncateSync(join(at.root, 'large.json'), 1024 ** 3)
    expect((await vtcode(at, ['verify', 'large.json'])).code).toBe(1)
    rmSync(join(at.root, 'large.json'))
    expect(await vtcode(at, ['verify', '/etc/passwd'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('VT_CERTIFICATE_INVALID'),
    })
  })
})
