export interface Graph {
  /** Paths of all files, relative to the checkout. */
  files: string[]
  /** For each file the files that use it, with the weight of the edge. */
  users: Map<string, [user: string, weight: number][]>
}
export function readGraph(root: string): Graph
export function findAffected(
  root: string,
  changed: readonly string[],
  graph?: Graph,
): { file: string; distance: number }[]
