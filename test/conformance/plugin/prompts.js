import { png } from './media.js'

const user = (content) => ({ role: 'user', content })
const text = (said) => user({ type: 'text', text: said })

const prompts = {
  'prompt/test_simple_prompt': () => [text('This is a simple prompt for testing.')],
  'prompt/test_prompt_with_arguments': ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  'prompt/test_prompt_with_embedded_resource': ({ resourceUri }) => [
    user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
    text('Please process the embedded resource above.'),
  ],
  'prompt/test_prompt_with_image': () => [user({ type: 'image', data: png, mimeType: 'image/png' }), text('Please analyze the image above.')],
  async 'prompt/test_input_required_result_prompt'(_, { client }) {
    const requestedSchema = { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] }
    const ask = { method: 'elicitation/create', params: { message: 'What context should the prompt use?', requestedSchema } }
    const { user_context } = await client.request({ user_context: ask })
    return [text(`Use this context: ${user_context.content?.context}`)]
  },
}

export default async ({ slot, input }, context) => ({ ok: true, output: { messages: await prompts[slot](input, context) } })
export const complete = (_, value) => ['paris', 'park', 'party'].filter((word) => word.startsWith(value))
