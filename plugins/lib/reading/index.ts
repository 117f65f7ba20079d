export { readImageFacts, IMAGE_LIMITS } from './image.js'
export { readFile, type ReadInput } from './read.js'
