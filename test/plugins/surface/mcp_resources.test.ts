import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { bin, surroundings } from '../../support/program.js'

const plugin = new URL('../../conformance/plugin', import.meta.url).pathname
const skill = (name: string, more: string, body: string) => ({
  [`.agents/skills/${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Use it for ${name}.\n${more}---\n${body}\n`,
})

async function connect(
  made: TempWorkspace,
  options: ConstructorParameters<typeof Client>[1] = {},
  config: object = { manifests: [plugin] },
) {
  const client = new Client({ name: 'test', version: '1' }, options)
  const args = [bin, '--config', `${made.home}/settings.json`, 'mcp']
  await made.write('../home/settings.json', JSON.stringify(config))
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd: made.root, env: surroundings(made) }),
  )
  return { client, [Symbol.asyncDispose]: () => client.close() }
}
const textsOf = (list: { text?: string }[]) => list.map(({ text }) => text)

describe('MCP resources', () => {
  it('lists resources with the names of a template, reads them by address, and names an unknown address', async () => {
    await using made = await tempWorkspace(skill('demo', '', 'Read ref.md.'))
    await using it = await connect(made)
    const uris = (await it.client.listResources()).resources.map(({ uri }) => uri)
    expect(uris).toEqual(
      expect.arrayContaining([
        'test://static-text',
        'test://template/12/data',
        'skill://demo',
        'vtcode://session/calls',
      ]),
    )
    const templates = (await it.client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)
    expect(templates).toEqual(
      expect.arrayContaining(['skill://{name}', 'vtcode://spool/{id}', 'test://template/{id}/data']),
    )
    const { contents } = await it.client.readResource({ uri: 'test://template/a%20b/data' })
    expect(contents).toEqual([
      {
        uri: 'test://template/a%20b/data',
        mimeType: 'application/json',
        text: '{"id":"a b","templateTest":true,"data":"Data for ID: a b"}',
      },
    ])
    expect(
      textsOf((await it.client.readResource({ uri: 'skill://demo' })).contents as { text: string }[])[0],
    ).toContain('Read ref.md.')
    for (const uri of [
      'test://nowhere',
      'skill://no-such-skill',
      'vtcode://spool/nothing.txt',
      'vtcode://spool/..%2F..%2Fa.txt',
      `skill://${'a'.repeat(100_000)}`,
    ]) {
      await expect(it.client.readResource({ uri })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('Resource not found'),
      })
    }
  })

  it('notifies a subscriber of new records of its calls, and shows them', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
    await using it = await connect(made)
    const told: string[] = []
    it.client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri))
    await it.client.subscribeResource({ uri: 'vtcode://session/calls' })
    await it.client.callTool({ name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } })
    const { contents } = await it.client.readResource({ uri: 'vtcode://session/calls' })
    const lines = String((contents[0] as { text: string }).text)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toEqual([expect.objectContaining({ slot: 'unified_file/read', surface: 'mcp', ok: true })])
    expect(told).toContain('vtcode://session/calls')
    await it.client.unsubscribeResource({ uri: 'vtcode://session/calls' })
    const before = told.length
    await it.client.callTool({ name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } })
    expect(told).toHaveLength(before)
  })

  it('shows spooled output by its name', async () => {
    await using made = await tempWorkspace({})
    await using it = await connect(
      made,
      {},
      { manifests: [plugin], policy: { mode: 'full-auto' }, automation: { full_auto: { enabled: true } } },
    )
    const run = await it.client.callTool({
      name: 'unified_exec',
      arguments: { action: 'run', command: 'seq 1 20000', yield_time_ms: 5000 },
    })
    expect(run.isError).toBeUndefined()
    const kept = (await it.client.listResources()).resources.filter(({ uri }) => uri.startsWith('vtcode://spool/'))
    const contents = await Promise.all(
      kept.map(async ({ uri }) => (await it.client.readResource({ uri })).contents[0] as { text: string }),
    )
    expect(textsOf(contents)).toContainEqual(expect.stringMatching(/^1\n2\n[^]*\n20000\n$/))
  })
})

describe('MCP prompts', () => {
  it("offers prompts of manifests and user-facing skills, filled with the user's arguments", async () => {
    const ordered = skill('order', 'argument-hint: what, how many\n', 'Order $2 of $1; not $12.')
    const files = {
      ...skill('ship', 'user-invocable: true\nargument-hint: where to\n', 'Ship it to $ARGUMENTS.'),
      ...ordered,
      ...skill('plain', '', 'For all.'),
      ...skill('models', 'user-invocable: false\n', 'For models.'),
      ...skill('mine', 'disable-model-invocation: true\n', 'Only for me.'),
    }
    await using made = await tempWorkspace(files)
    await using it = await connect(made)
    const { prompts } = await it.client.listPrompts()
    const names = prompts.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['test_simple_prompt', 'ship', 'order', 'plain', 'mine', 'commit-and-pr']),
    )
    expect(names).not.toContain('models')
    expect(prompts.filter(({ name }) => ['order', 'plain'].includes(name)).map((prompt) => prompt.arguments)).toEqual([
      [{ name: 'arguments', description: 'what, how many' }],
      undefined,
    ])
    expect(
      JSON.stringify(
        (await it.client.getPrompt({ name: 'order', arguments: { arguments: '"red shoes" 3 $1' } })).messages,
      ),
    ).toContain('Order 3 of red shoes; not $12.')
    const shipped = await it.client.getPrompt({ name: 'ship', arguments: { arguments: 'Oslo & $1' } })
    expect(shipped.messages).toEqual([
      { role: 'user', content: expect.objectContaining({ text: expect.stringContaining('Ship it to Oslo & $1.') }) },
    ])
    expect(JSON.stringify((await it.client.getPrompt({ name: 'mine' })).messages)).toContain('Only for me.')
    await expect(it.client.getPrompt({ name: 'no_such' })).rejects.toMatchObject({ code: -32602 })
    await expect(
      it.client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'x' } }),
    ).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('arg2') })
  })

  it('completes arguments of prompts and templates', async () => {
    await using made = await tempWorkspace(skill('demo', '', 'x'))
    await using it = await connect(made)
    const values = async (ref: Parameters<Client['complete']>[0]['ref'], name: string, value: string) =>
      (await it.client.complete({ ref, argument: { name, value } })).completion.values
    expect(await values({ type: 'ref/prompt', name: 'test_prompt_with_arguments' }, 'arg1', 'par')).toEqual([
      'paris',
      'park',
      'party',
    ])
    expect(await values({ type: 'ref/resource', uri: 'skill://{name}' }, 'name', 'de')).toEqual(
      expect.arrayContaining(['demo', 'debugging']),
    )
    await expect(values({ type: 'ref/prompt', name: 'no_such' }, 'a', '')).rejects.toMatchObject({ code: -32602 })
  })
})

describe('a plugin that asks the client', () => {
  it('gets the answers of the user, or a failure when the client cannot be asked', async () => {
    await using made = await tempWorkspace({})
    await using asked = await connect(made, { capabilities: { elicitation: { form: {} } } })
    asked.client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
    expect(
      (await asked.client.callTool({ name: 'test_input_required_result_elicitation', arguments: {} })).content,
    ).toEqual([{ type: 'text', text: 'Hello, Ada!' }])
    const sampling = await asked.client.callTool({ name: 'test_sampling', arguments: { prompt: 'hi' } })
    expect(sampling).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('did not declare the required capability') }],
    })
  })
})

describe('resources and prompts as slots', () => {
  it('calls and judges resources and prompts like other slots, and lists none as a tool', async () => {
    await using booted = await bootKernel({ manifests: [plugin] })
    expect(await booted.call('resource/static_text')).toMatchObject({
      ok: true,
      text: 'This is the content of the static text resource.',
    })
    expect(await booted.call('prompt/test_prompt_with_arguments', { arg1: 'a' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_MISSING' },
    })
    expect(booted.kernel.tools().map(({ name }) => name)).not.toContain('prompt')
    await using policies = await tempWorkspace({
      'shut.yaml': 'name: shut\nkind: policy\nslots: [resource/*]\nmodule: ./shut.js\n',
      'shut.js': "export default () => ({ deny: 'No resources today.' })\n",
    })
    await using strict = await bootKernel({ manifests: [plugin, policies.root] })
    expect(await strict.call('resource/static_text')).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: 'No resources today.' },
    })
    expect(await strict.call('prompt/test_simple_prompt')).toMatchObject({ ok: true })
  })

  it('completes no name of a file that a rule of the user hides', async () => {
    await using offers = await tempWorkspace({
      'file.yaml':
        'name: file\nkind: resource\ndescription: A file by its name.\ntemplate: files://here/{name}\nmodule: ./file.js\n',
      'file.js':
        'export default () => ({ ok: true, output: {} })\nexport const complete = async (_, value, { workspace }) => (await workspace.listNames(".")).map(({ name }) => name)\n',
    })
    const files = { 'open.txt': '', 'secret.txt': '' }
    await using plain = await bootKernel({ files, manifests: [offers.root] })
    expect(await plain.kernel.inspection.complete('resource/file', 'name', '')).toContain('secret.txt')
    await using strict = await bootKernel({
      files,
      manifests: [offers.root],
      config: { policy: { deny: ['Read(secret*)'] } },
    })
    const names = await strict.kernel.inspection.complete('resource/file', 'name', '')
    expect(names).toContain('open.txt')
    expect(names).not.toContain('secret.txt')
  })
})
