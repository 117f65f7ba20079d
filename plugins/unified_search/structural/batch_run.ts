import type { Context } from '../../../core/index.js'
import { MAX_PARSED_BYTES } from '../../lib/search/index.js'
import { runOnLinks, type Linked } from '../../lib/syntax/index.js'
import { parseLazyMatch } from './lazy_match.js'
import type { OpenSubject } from './open_subjects.js'
import type { Findings, LazyMatch } from './types.js'

export type BatchAnswer = Awaited<ReturnType<typeof runOnLinks>>

/** Runs of the program on one batch of linked files. */
export interface BatchRun {
  pathByName: (name: string) => string
  /** Syntax errors by path, in bytes. */
  broken: Findings['broken']
  takeError: (line: Buffer) => void
  takeMatch: (line: Buffer) => void
  ask: (args: string[], take: (line: Buffer) => void) => Promise<BatchAnswer>
}

interface Sink {
  take: (match: LazyMatch, broken: Findings['broken']) => void
  /** Gets the size of each line; returns whether to stop the program. */
  shouldStop: (bytes: number) => boolean
}

/** Creates the runs for a batch. The files stay open and linked during a run. */
export function createBatchRun(context: Context, opened: readonly OpenSubject[], linked: Linked, sink: Sink): BatchRun {
  const paths = new Map(linked.names.map((name, index) => [name, opened[index]!.path]))
  const pathByName = (name: string) => paths.get(name) ?? name
  const broken: Findings['broken'] = new Map()
  return {
    pathByName,
    broken,
    takeError: (line) => {
      const { file, start, end } = parseLazyMatch(line, pathByName)
      broken.set(file, [...(broken.get(file) ?? []), { start, end }])
    },
    takeMatch: (line) => sink.take(parseLazyMatch(line, pathByName), broken),
    ask: (args, take) =>
      runOnLinks(context, args, opened, linked, resolveTimeoutMs(context, opened), (line) =>
        sink.shouldStop(line.length) ? false : take(line),
      ),
  }
}

/**
 * Returns the time limit of the program, in milliseconds; lower for a single file, because the program prints a line
 * once for each match in it.
 */
export function resolveTimeoutMs({ host }: Context, opened: readonly OpenSubject[]): number {
  const { engine, single_file } = host.timeouts
  const isSingle = opened.length === 1 && opened[0]!.handle.stat.bytes <= MAX_PARSED_BYTES
  return isSingle ? Math.min(engine, single_file) : engine
}
