export type Library = typeof import('@ast-grep/napi')
let library: Promise<Library | undefined> | undefined

/** ast-grep as a library, loaded at its first use; `undefined` where its package brings nothing for this platform. */
export function astGrepLibrary(): Promise<Library | undefined> {
  return (library ??= import('@ast-grep/napi').catch(() => undefined))
}
