export { LiveContext } from './context_window.js'
export { Segments } from './segment.js'
export { systemPrompt, writtenFor } from './system_prompt.js'
