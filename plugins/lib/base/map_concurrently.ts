/**
 * Yields the results of `work` in the order of the items. Up to `most` calls run while the caller uses one result. A
 * caller that stops early waits for no running call.
 */
export async function* mapConcurrently<T, R>(
  items: AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const under: Promise<R>[] = []
  for await (const item of items) {
    const made = work(item)
    // Marks a rejection as handled: the call may fail before its turn.
    made.catch(() => {})
    if (under.push(made) >= most) yield await under.shift()!
  }
  for (const made of under) yield await made
}
