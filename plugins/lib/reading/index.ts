export { readImageFacts, IMAGE_LIMITS } from './image.js'
export { readFile, type ReadInput } from './read.js'
export { addNotes } from './shown_notes.js'
export { readTextPart } from './text_part.js'
