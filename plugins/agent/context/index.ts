export { ContextWindow } from './context_window.js'
export { Segments } from './segment.js'
export { instructionText, systemPrompt } from './system_prompt.js'
