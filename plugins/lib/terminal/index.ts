export { approver } from './approver.js'
export { runCommand, verb } from './commands.js'
export { CallUsageError, readInput, takeTool } from './flags.js'
export { ago, asDocument, documentText, type OutputForm } from './output.js'
export { helpText } from './help_text.js'
export { filledPrompt, promptHelp, promptNamed } from './prompts.js'
export { asker, pickOne } from './questions.js'
export {
  columns,
  confirmed,
  fitTerminal,
  growingTerminalText,
  interactive,
  oneLine,
  paint,
  printable,
  say,
  type Paint,
} from './terminal.js'
export { callWords, cutLine, helpWidth, slotHelp } from './slot_help.js'
