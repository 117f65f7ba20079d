// Stands for the SDK's platform shims, which carry a whole ajv: a server that brings its own validator never needs it.
export { default as process } from 'node:process'

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('Give the server a jsonSchemaValidator.')
  }
}
