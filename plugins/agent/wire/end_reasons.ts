import { Cut, describeUnknownEnd } from './fault.js'

/** The meaning of an end reason for the agent. Any reason that is not listed means that the answer broke. */
export type End = 'stop' | 'tool-calls' | 'length' | 'content-filter'

/** The reasons of each format, in lower case. docs/providers.md shows this table, and a test compares them. */
export const endReasons: Readonly<Record<string, Readonly<Record<End, readonly string[]>>>> = {
  'openai-chat': {
    stop: ['stop', 'eos', 'eos_token', 'stop_sequence', 'end_turn', 'completed', 'complete'],
    'tool-calls': ['tool_calls', 'tool_call', 'tool_use', 'function_call'],
    length: ['length', 'max_tokens', 'max_output_tokens', 'model_length'],
    'content-filter': ['content_filter', 'safety', 'sensitive', 'refusal', 'recitation'],
  },
  'openai-responses': {
    stop: ['completed'],
    'tool-calls': [],
    length: ['max_output_tokens', 'max_tokens', 'length'],
    'content-filter': ['content_filter'],
  },
  'anthropic-messages': {
    stop: ['end_turn', 'stop_sequence', 'pause_turn', 'stop'],
    'tool-calls': ['tool_use', 'tool_calls'],
    length: ['max_tokens', 'model_context_window_exceeded', 'length'],
    'content-filter': ['refusal', 'content_filter', 'sensitive'],
  },
  'google-generative-ai': {
    stop: ['stop'],
    // Proxies say so; Google ends calls with STOP.
    'tool-calls': ['function_call', 'tool_calls'],
    length: ['max_tokens'],
    'content-filter': [
      'safety',
      'recitation',
      'language',
      'blocklist',
      'prohibited_content',
      'spii',
      'image_safety',
      'image_prohibited_content',
      'image_recitation',
    ],
  },
}

/** Returns the meaning of a reason. Throws Cut for a reason that is not known to mean an end. */
export function readEndReason(format: string, reason: string, words?: string): End {
  const table = endReasons[format]!
  const known = reason.toLowerCase()
  const end = (Object.keys(table) as End[]).find((name) => table[name].includes(known))
  if (end !== undefined) return end
  const detail = words === undefined ? '' : `: ${words}`
  throw new Cut(`The answer broke off: ${describeUnknownEnd(reason)}${detail}.`)
}
