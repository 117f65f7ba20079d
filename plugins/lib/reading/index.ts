export { lookAtImage, mostOfImage } from './image.js'
export { readFile, type ReadInput } from './read.js'
