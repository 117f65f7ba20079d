import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { chat as chatOn, type ChatShape } from '../../support/chat.js'
import { call } from '../../support/peer.js'
import { drawn } from '../../support/screen.js'

/** The chat in a wide window, ready for what a person types. */
async function chat(script: Parameters<typeof chatOn>[0], { words, ...how }: ChatShape & { words?: string[] } = {}) {
  const at = await chatOn(script, words, { columns: 110, ...how })
  await at.until(/^peer\/m · \w+/m)
  return at
}
const said = (peer: { bodies: any[] }) => peer.bodies.map(({ messages }) => messages.at(-1).content)
const count = (text: string, part: string): number => text.split(part).length - 1
const write = (path: string, content: string) => ({
  toolCalls: [call('unified_file', { action: 'write', path, content })],
})
/** The last rows, where the part is that changes. */
const below = (text: string): string => text.split('\n').slice(-24).join('\n')

describe('commands of the chat screen', () => {
  it('shows rules, tools, skills, servers, status, cost and changes; sends no unknown command to a model', async () => {
    const skill = '---\nname: greet\ndescription: Greets somebody.\nargument-hint: "[name]"\n---\nGreet $ARGUMENTS.\n'
    const { type, until, gone, end, peer, text, raw, place } = await chat(
      [{ content: 'hello there' }, { content: 'greeted' }],
      {
        files: { 'a.txt': 'one\n', '.agents/skills/greet/SKILL.md': skill, 'docs/deep/guide.md': '' },
        extra: { settings: { policy: { allow: ['Bash(git *)'] }, sandbox: { mode: 'off' } } },
      },
    )
    const paged = async (command: string, wanted: RegExp) => {
      type(`${command}\r`)
      await until(wanted)
      await until(/q closes/)
      type('q')
      await gone(/q closes/)
    }
    await paged('/permissions', /allow +Bash\(git \*\)/)
    await paged('/tools unified_file', /unified_file\n[^]*read/)
    await paged('/skills', /greet/)
    type('/mcp\r')
    await until('No MCP servers are configured')
    type('/status\r')
    await until(/branch +none/)
    type('/cost\r')
    await until(/requests +0/)
    type('/copy\r')
    await until('There is no answer yet.')
    type('/permisions\r')
    await until('Unknown command /permisions (did you mean /permissions?)')
    type('hi\r')
    await until('hello there')
    type('/copy\r')
    await until('11 characters, was sent to the clipboard')
    expect(raw()).toContain(`\u001b]52;c;${Buffer.from('hello there').toString('base64')}\u0007`)
    type('/gre')
    await until('/greet [name]')
    type('et Ada\r')
    await until('greeted')
    type('look at @guid')
    await until('docs/deep/guide.md')
    type('\t')
    await until('> look at @docs/deep/guide.md')
    type('\u0003')
    type('!echo from-the-shell; exit 3\r')
    await until(/^from-the-shell$/m)
    await until(/^exit 3$/m)
    type('/diff\r')
    await until(/not a git repository/i)
    expect(said(peer)).toEqual(['hi', expect.stringContaining('Greet Ada.')])
    type('/theme light\r')
    await until('The theme is light')
    expect(readFileSync(join(place.home, '.vtcode/vtcode.config.json'), 'utf8')).toContain('"theme": "light"')
    type('/theme purple\r')
    await until("Unknown theme 'purple'")
    type('\u0004')
    expect(await end()).toBe(0)
    expect(count(text(), 'from-the-shell')).toBe(2)
    const again = await drawn(place, ['chat'], { inside: true })
    await again.until(/^peer\/m/m)
    again.type('some `code`\r')
    await again.until(/script exhausted|VT_LLM/)
    again.type('\u0004')
    await again.end()
  })

  it('reverts to a turn, forks, starts over, resumes and changes the model', async () => {
    const { type, until, gone, end, peer, place, text } = await chat(
      [
        write('a.txt', 'new\n'),
        { content: 'written.' },
        { content: 'second answer' },
        { content: 'after the rewind' },
        { content: 'in the fork' },
        { content: 'as new' },
        { content: 'from the other model' },
      ],
      { extra: { provider: { models: ['m', 'other'] } }, words: ['--mode', 'auto', 'chat'] },
    )
    type('first message\r')
    await until('written.')
    expect(await place.read('a.txt')).toBe('new\n')
    type('second message\r')
    await until('second answer')
    type('/rewind\r')
    await until('Go back to before which message?')
    type('first')
    await sleep(100)
    type('\r')
    await until('What should go back?')
    type('\r')
    await until('Back to before turn 1; restored: a.txt')
    await until(/^> first message/m)
    expect(await place.read('a.txt')).toBeUndefined()
    type('\u0003')
    await sleep(50)
    type('third message\r')
    await until('after the rewind')
    expect(JSON.stringify(peer.bodies.at(-1)!.messages)).not.toMatch(/first message|second message/)
    type('/fork\r')
    await until('Fork before which message?')
    type('\r')
    await until(/has the conversation before turn \d/)
    await until(/^> third message/m)
    type('\u0003')
    await sleep(50)
    type('fourth message\r')
    await until('in the fork')
    expect(JSON.stringify(peer.bodies.at(-1)!.messages)).not.toMatch(/third message/)
    type('/clear\r')
    await expect.poll(() => count(text(), ', session ses_')).toBe(4)
    type('fifth message\r')
    await until('as new')
    expect(JSON.stringify(peer.bodies.at(-1)!.messages)).not.toMatch(/fourth message/)
    type('/model\r')
    await until('Which model?')
    type('other')
    await sleep(100)
    type('\r')
    await until(/^peer\/other · auto/m)
    type('sixth message\r')
    await until('from the other model')
    expect(peer.bodies.at(-1)!.model).toBe('other')
    expect(JSON.stringify(peer.bodies.at(-1)!.messages)).toMatch(/fifth message/)
    type('/model nobody/none\r')
    await until(/nobody/)
    await until(/^peer\/other · auto/m)
    type('/resume\r')
    await until('Which session?')
    type('first')
    await sleep(100)
    type('\r')
    await gone('Which session?')
    await expect.poll(() => count(text(), '> fourth message')).toBe(2)
    expect(count(text(), '> fifth message')).toBe(1)
    type('/resume ses_none\r')
    await until("Session not found: 'ses_none'")
    await until(/^peer\/\w+ · auto/m)
    expect(below(text())).toMatch(/\n> /)
    type('\u0004')
    expect(await end()).toBe(0)
  })

  it("opens the message in the user's editor and sends images that it names to the model", async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const { type, until, end, peer, place } = await chat([{ content: 'seen' }], {
      extra: { provider: { profiles: { m: { supports_vision: true } } } },
      env: { EDITOR: './edit.sh' },
      files: { 'edit.sh': '#!/bin/sh\nprintf "%s and more" "$(cat "$1")" > "$1.new"\nmv "$1.new" "$1"\n' },
    })
    chmodSync(join(place.root, 'edit.sh'), 0o755)
    writeFileSync(join(place.root, 'my shot.png'), png)
    type('what is')
    await until('> what is')
    type('\u0007')
    await until('> what is and more')
    type(" in './my shot.png'\r")
    await until('with the image my shot.png')
    await until('seen')
    expect(JSON.stringify(said(peer)[0])).toContain('image_url')
    expect(JSON.stringify(said(peer)[0])).toContain('what is and more in')
    type('\u0004')
    expect(await end()).toBe(0)
  })
})

describe('an approval in the chat', () => {
  it('names the rule that asks and accepts a permanent rule, edited by the user, that allows the call', async () => {
    const run = (command: string) => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
    const { type, until, answer, end, text } = await chat(
      [
        run('touch one'),
        { content: 'ran one' },
        run('touch two'),
        { content: 'ran two' },
        run('mkdir three'),
        { content: 'ran three' },
      ],
      {
        words: ['--mode', 'auto', 'chat'],
        extra: { settings: { policy: { ask: ['Bash(mkdir *)'] }, sandbox: { mode: 'off' } } },
      },
    )
    type('go\r')
    await until('the rule, which you can edit: Bash(touch one)')
    await answer('\t\t\t\r')
    await until('Rule: Bash(touch one)')
    for (const key of ['\u001b[D', '\u007f', '\u007f', '\u007f', '*']) type(key)
    await until('Rule: Bash(touch *)')
    type('\u0015Bash(ls)\u000b\r')
    await until("The rule 'Bash(ls)' does not allow this call.")
    await answer('\t\t\t\r')
    await until('Rule: Bash(touch one)')
    for (const key of ['\u001b[D', '\u007f', '\u007f', '\u007f', '*', '\r']) type(key)
    await until('Allowed in this workspace from now on: Bash(touch *)')
    await until('ran one')
    type('again\r')
    await until('ran two')
    expect(count(text(), 'touch two do this')).toBe(0)
    type('and that\r')
    await until(/rule that asks: Bash\(mkdir \*\) of[\s│]+\//)
    await answer('y')
    await until('ran three')
    type('\u0004')
    expect(await end()).toBe(0)
  })
})
