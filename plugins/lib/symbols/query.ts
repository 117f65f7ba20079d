import type { ServerCapabilities } from 'vscode-languageserver-protocol'
import type { Context, Handler } from '../../../core/contract/index.js'
import {
  createMissingError,
  createServerError,
  findServer,
  isServed,
  type ServerQuestion,
} from '../language_server/index.js'
import { openToSearch } from '../search/index.js'
import { listFiles } from '../walk/index.js'
import { createPlacesAnswer, readPlaces, type PageInput } from './places.js'

import { findTarget, toDocumentUri, type Place, type TargetInput } from './target.js'

/** A question about the symbol that an input names. */
export interface Query {
  needs: keyof ServerCapabilities
  /** The answer is complete only when the whole project is loaded. */
  ready: boolean
}

/** Files that are searched for a name, at most, and the largest of them in bytes. */
const MAX = { files: 2_000, bytes: 262_144 }

/**
 * Asks the server of a file, or of the first file below a folder that contains the wanted name. Throws
 * VT_LANGUAGE_SERVER_MISSING, VT_LANGUAGE_SERVER_FAILED.
 */
export async function askServer<T>(
  { path, symbol }: Pick<TargetInput, 'path' | 'symbol'>,
  context: Context,
  query: Query,
  work: (question: ServerQuestion) => Promise<T>,
): Promise<T> {
  const file = await findAnchor(path, symbol, context)
  const server = findServer(file, context)
  if (!server) throw createMissingError(file, context)
  try {
    return await server.ask(file, query, context, work)
  } catch (error) {
    context.signal.throwIfAborted()
    throw createServerError(server, error as Error)
  }
}

/** Asks about the symbol that an input names, and passes the protocol's form of its place. */
export const askAboutSymbol = <T>(
  input: TargetInput,
  context: Context,
  query: Query,
  work: (place: object, question: ServerQuestion, target: Place) => Promise<T>,
): Promise<T> =>
  askServer(input, context, query, async (question) => {
    const { document, send } = question
    const target = await findTarget(input, document, send, context.workspace.root)
    const { line, character } = target
    return work(
      { textDocument: { uri: toDocumentUri(target.path, document) }, position: { line, character } },
      question,
      target,
    )
  })

/** Creates the handler of an action that lists places. */
export const createPlacesHandler =
  (method: string, what: string, query: Query, params: object = {}): Handler<TargetInput & PageInput> =>
  async ({ input, given, slot }, context) => {
    const answer = await askAboutSymbol(input, context, query, (place, { send }) =>
      send(method, { ...place, ...params }),
    )
    const [tool = '', action] = slot.split('/')
    const next = { tool, input: { action, ...given } }
    const { workspace } = context
    return createPlacesAnswer(readPlaces(answer, workspace), input, next, { workspace, what })
  }

async function findAnchor(path: string, symbol: string | undefined, context: Context): Promise<string> {
  await using target = await openToSearch(context, path)
  if (target.kind === 'file') return target.path
  const served = (await listFiles(context, target, {})).files.filter((file) => isServed(file, context))
  const files = served.filter((file) => findServer(file, context))
  if (files.length === 0) throw createMissingError(served[0] ?? path, context)
  const name = symbol?.slice(symbol.lastIndexOf('.') + 1) ?? ''
  for (const file of files.slice(0, MAX.files)) {
    const text = await context.workspace.readText(file, { max_bytes: MAX.bytes }).catch(() => '')
    if (text.includes(name)) return file
  }
  return files[0]!
}
