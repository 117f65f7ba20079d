import { setTimeout } from 'node:timers/promises'
import { png, wav } from './media.js'

const say = (text) => ({ output: { text }, text })
const show = (...content) => ({ output: {}, content })
const form = (message, properties, required = Object.keys(properties)) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required } },
})
const sample = (text, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens },
})
const roots = { method: 'roots/list', params: {} }
const nameForm = form('What is your name?', { name: { type: 'string' } })
const texts = ({ content }) => [content].flat().map(({ text }) => text).join(' ')

/** What the public conformance suite asks of a server, each by the public means of a plugin. */
const tools = {
  json_schema_2020_12_tool: ({ name = 'somebody' }) => say(name),
  test_simple_text: () => say('This is a simple text response for testing.'),
  test_image_content: () => show({ type: 'image', data: png, mimeType: 'image/png' }),
  test_audio_content: () => show({ type: 'audio', data: wav, mimeType: 'audio/wav' }),
  test_embedded_resource: () =>
    show({ type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' } }),
  test_multiple_content_types: () =>
    show(
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' } },
    ),
  async test_tool_with_logging(_, { log }) {
    log('info', 'Tool execution started')
    await setTimeout(50)
    log('info', 'Tool processing data')
    await setTimeout(50)
    log('info', 'Tool execution completed')
    return say('Logged three times.')
  },
  async test_tool_with_progress(_, { progress }) {
    for (const done of [0, 50, 100]) {
      progress({ done, total: 100 })
      await setTimeout(50)
    }
    return say('Done.')
  },
  test_error_handling: () => ({ ok: false, error: { code: 'TEST_FAILED', message: 'This tool intentionally returns an error for testing', hint: '', retryable: false } }),
  async test_sampling({ prompt }, { client }) {
    const { answer } = await client.request({ answer: sample(prompt) })
    return say(`LLM response: ${texts(answer)}`)
  },
  async test_elicitation({ message }, { client }) {
    const properties = { username: { type: 'string', description: "User's response" }, email: { type: 'string', description: "User's email address" } }
    const { answer } = await client.request({ answer: form(message, properties) })
    return say(`User response: ${JSON.stringify(answer)}`)
  },
  async test_elicitation_sep1034_defaults(_, { client }) {
    const properties = {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }
    const { answer } = await client.request({ answer: form('Check these.', properties, []) })
    return say(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)
  },
  async test_elicitation_sep1330_enums(_, { client }) {
    const titled = (...names) => names.map((title, i) => ({ const: `value${i + 1}`, title }))
    const options = ['option1', 'option2', 'option3']
    const properties = {
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: titled('First Option', 'Second Option', 'Third Option') },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', items: { anyOf: titled('First Choice', 'Second Choice', 'Third Choice') } },
    }
    const { answer } = await client.request({ answer: form('Choose.', properties, []) })
    return say(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)
  },
  async test_missing_capability(_, { client }) {
    const { answer } = await client.request({ answer: sample('Anything?') })
    return say(texts(answer))
  },
  async test_streaming_elicitation(_, { client }) {
    const { user_name } = await client.request({ user_name: nameForm })
    return say(`Hello, ${user_name.content?.name ?? 'nobody'}!`)
  },
  test_logging_tool(_, { log }) {
    log('info', 'For whoever asked to hear it.')
    return say('Logged.')
  },
  async test_input_required_result_elicitation(_, { client }) {
    const { user_name } = await client.request({ user_name: nameForm })
    return say(`Hello, ${user_name.content?.name ?? 'nobody'}!`)
  },
  async test_input_required_result_sampling(_, { client }) {
    const { capital_question } = await client.request({ capital_question: sample('What is the capital of France?') })
    return say(texts(capital_question))
  },
  async test_input_required_result_list_roots(_, { client }) {
    const { client_roots } = await client.request({ client_roots: roots })
    return say(`Roots: ${client_roots.roots.map(({ uri }) => uri).join(', ')}`)
  },
  async test_input_required_result_request_state(_, { client }) {
    await client.request({ confirm: form('Please confirm', { ok: { type: 'boolean' } }) }, { asked: 'confirm' })
    return say(client.state?.asked === 'confirm' ? 'state-ok' : 'state-missing')
  },
  async test_input_required_result_multiple_inputs(_, { client }) {
    const requests = { user_name: nameForm, greeting: sample('Generate a greeting', 50), client_roots: roots }
    const { user_name, greeting, client_roots } = await client.request(requests, { asked: 'three' })
    return say(`${texts(greeting)} ${user_name.content?.name}, of ${client_roots.roots.length} roots`)
  },
  async test_input_required_result_multi_round(_, { client }) {
    const name = client.state?.name ?? (await client.request({ step1: form('Step 1: What is your name?', { name: { type: 'string' } }) }, { round: 1 })).step1.content?.name
    const { step2 } = await client.request({ step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }) }, { round: 2, name })
    return say(`${name} likes ${step2.content?.color}.`)
  },
  async test_input_required_result_tampered_state(_, { client }) {
    await client.request({ confirm: form('Please confirm', { ok: { type: 'boolean' } }) }, { secret: 'nobody else can write this' })
    return say('The state is ours.')
  },
  async test_input_required_result_capabilities(_, { client }) {
    const possible = { elicitation: ['user_name', nameForm], sampling: ['greeting', sample('Generate a greeting', 50)], roots: ['client_roots', roots] }
    const requests = Object.entries(possible).flatMap(([capability, request]) => (client.capabilities[capability] ? [request] : []))
    if (requests.length === 0) return say('The client can be asked nothing.')
    const answers = await client.request(Object.fromEntries(requests))
    return say(`Asked for ${Object.keys(answers).join(', ')}.`)
  },
}

export default async (call, context) => ({ ok: true, ...(await tools[call.slot](call.input, context)) })
