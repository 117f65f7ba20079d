export { createInstructionReader, type Instructions } from './instruction_files.js'
export { listStartFolders, readInstructions, readNestedInstructions, renderInstructions } from './instructions.js'
