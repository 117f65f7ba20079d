import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chat } from '../../support/chat.js'
import { hold } from '../../support/inside.js'
import { call, home, vtcode } from '../../support/peer.js'
import { drawn } from '../../support/screen.js'
import { serve } from '../../support/server.js'

/** A user without settings, and a server on this machine that lists a model and answers. */
async function newcomer(models = ['tiny']) {
  const server = hold(
    await serve((_, response, { path }) =>
      path.endsWith('/models')
        ? response.end(JSON.stringify({ data: models.map((id) => ({ id })) }))
        : response
            .writeHead(200, { 'content-type': 'text/event-stream' })
            .end(
              'data: {"id":"x","choices":[{"index":0,"delta":{"content":"It counts sheep."},"finish_reason":"stop"}]}\n\n' +
                'data: [DONE]\n\n',
            ),
    ),
  )
  const place = hold(await home({ url: '' }))
  rmSync(join(place.home, '.vtcode'), { recursive: true })
  return { place, env: { OLLAMA_BASE_URL: `${server.url}/v1` } }
}
const nothing = { OLLAMA_BASE_URL: 'http://127.0.0.1:9/v1' }

describe('a first start without settings', () => {
  it('uses the model of a server on this machine for exec and names it', async () => {
    const { place, env } = await newcomer(['tiny', 'big'])
    for (const words of [['exec', 'count'], ['count the sheep']])
      expect(await vtcode(place, words, { env })).toMatchObject({
        code: 0,
        out: 'It counts sheep.\n',
        err: expect.stringContaining('Using ollama/tiny of a server on this machine (2 models); `vtcode init` chooses'),
      })
  })

  it('starts a chat with a task in place of a verb, and ends with how to continue', async () => {
    const { place, env } = await newcomer()
    const at = await drawn(place, ['fix the bug'], { env, inside: true })
    await at.until('> fix the bug')
    await at.until('It counts sheep.')
    at.type('\u0004')
    expect(await at.end()).toBe(0)
    expect(at.text()).toMatch(/Continue with: vtcode chat --resume ses_\w{26}$/)
    const again = await drawn(place, ['resume'], { env, inside: true })
    await again.until(/Which session\?\n.*fix the bug/)
    again.type('\r')
    await again.until(/^ollama\/tiny · ask/m)
    again.type('\u0004')
    expect(await again.end()).toBe(0)
  })

  it('goes into init without any model, and stays there when it finds none', async () => {
    const { place } = await newcomer()
    const at = await drawn(place, [], { env: nothing, inside: true })
    await at.until('No model is set up yet: this is `vtcode init`.')
    expect(await at.end()).toBe(3)
    expect(at.text()).toMatch(/s\s*tart Ollama/)
  })

  it('says that there is no session to resume', async () => {
    const { place, env } = await newcomer()
    const at = await drawn(place, ['resume'], { env, inside: true })
    await at.until('This workspace has no session to continue.')
    expect(await at.end()).toBe(0)
  })
})

describe('habits of other programs', () => {
  it.each([
    [['-p', 'hi'], /vtcode exec "<task>"/],
    [['exec', '--yolo', 'x'], /Unknown option '--yolo'\. `--mode auto`/],
    [['--dangerously-skip-permissions'], /`--mode auto` makes edits/],
    [['login'], /vtcode models login/],
    [['update'], /npm install -g vtcode@latest/],
    [['run', 'x'], /vtcode exec/],
    [['settings'], /vtcode config set/],
    [['-r'], /vtcode resume/],
    [['exec', '-C', 'x', 'y'], /--workspace <folder>/],
  ])('names our word for %j', async (words, wanted) => {
    const { place } = await newcomer()
    expect(await vtcode(place, words, { env: nothing })).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(wanted),
    })
  })

  it('prints the version for -v, and opens the chat for a model without a verb', async () => {
    const { place, env } = await newcomer()
    expect((await vtcode(place, ['-v'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
    const at = await drawn(place, ['--model', 'ollama/big'], { env, inside: true })
    await at.until(/^ollama\/big · ask/m)
    at.type('\u0004')
    expect(await at.end()).toBe(0)
  })
})

describe('/undo of the chat', () => {
  it('undoes the last change of files', async () => {
    const write = { toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'x\n' })] }
    const { type, until, end, place } = await chat([write, { content: 'written.' }], ['--mode', 'auto', 'chat'])
    await until(/^peer\/m · auto/m)
    type('write\r')
    await until(/^written\.$/m)
    expect(await place.read('a.txt')).toBe('x\n')
    type('/undo \r')
    await until('Undone: ')
    expect(await place.read('a.txt')).toBeUndefined()
    type('q')
    await until(/^> \/ for commands/m)
    type('\u0004')
    expect(await end()).toBe(0)
  })
})
