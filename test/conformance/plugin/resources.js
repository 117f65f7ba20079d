import { png } from './media.js'

const answers = {
  'resource/static_text': () => ({ text: 'This is the content of the static text resource.' }),
  'resource/static_binary': () => ({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] }),
  'resource/watched_resource': () => ({ text: 'Nothing has happened yet.' }),
  'resource/template': ({ id }) => ({ text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }),
}

export default ({ slot, input }) => ({ ok: true, output: {}, ...answers[slot](input) })
export const complete = (_, value) => ['1', '12', '123'].filter((id) => id.startsWith(value))
