import { resolveHome } from '../../build/core/system/index.js'
import { openWorkspace } from '../../build/core/workspace/index.js'
import type { TempWorkspace } from 'vtcode/test'

/** Names and lines as this program writes them below `.vtcode/` in a workspace of this user. */
export function sealedIn({ root, home }: Pick<TempWorkspace, 'root' | 'home'>) {
  const workspace = openWorkspace(root, { home: resolveHome({ home, env: {} }) })
  const { seal } = workspace
  workspace.close()
  return {
    /** Returns the name of a spool file of a session; `index` replaces the random part. */
    text(owner: string, index: number): string {
      const name = `${owner && `${owner}-`}demo-${index.toString(16).padStart(8, '0')}`
      return `${name}${seal.nameMark('spool', name).slice(0, 8)}.txt`
    },
    /** A line of the record of a session. */
    call: (session: string, entry: object): string =>
      `${seal.write('call', `.vtcode/sessions/${session}/calls.jsonl`, entry)}\n`,
  }
}
