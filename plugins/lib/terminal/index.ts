export { createApprover } from './approver.js'
export { collectOutput } from './collect_output.js'
export { runCommand, createVerb } from './commands.js'
export { parseAnswers, toElicitationForm } from './elicitation_form.js'
export { CallUsageError, readInput, takeTool } from './flags.js'
export { formatAge, shouldPrintJson, formatDocument, fenceBlock, type OutputForm } from './output.js'
export { readHelpText } from './help_text.js'
export { fillPrompt, renderPromptHelp, findPrompt } from './prompts.js'
export { createAsker, pickOne } from './questions.js'
export {
  formatColumns,
  confirm,
  takeTypedAhead,
  formatForStdout,
  createTerminalStream,
  isInteractive,
  toOneLine,
  createPaint,
  printable,
  say,
  type Paint,
} from './terminal.js'
export { formatCall, cutLine, HELP_WIDTH, renderSlotHelp } from './slot_help.js'
