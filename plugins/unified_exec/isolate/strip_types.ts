import { transform } from 'sucrase'

/** Removes the types of TypeScript; the lines keep their numbers. Throws SyntaxError with line and column. */
export const stripTypes = (code: string): string =>
  transform(code, {
    transforms: ['typescript'],
    disableESTransforms: true,
    keepUnusedImports: true,
  }).code
