/** What `work` makes of each item, in their order; up to `most` are under way while one is used. Whoever stops early waits for none of them. */
export async function* mapConcurrently<T, R>(
  items: AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const under: Promise<R>[] = []
  for await (const item of items) {
    const made = work(item)
    // It may fail before anybody waits for it.
    made.catch(() => {})
    if (under.push(made) >= most) yield await under.shift()!
  }
  for (const made of under) yield await made
}
