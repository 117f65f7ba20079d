/** Queue of values for one reader; ends after `end`. */
export class EventStream<T> implements AsyncIterable<T> {
  private readonly buffer: T[] = []
  private waiting: ((next: IteratorResult<T>) => void) | undefined
  private over = false

  push(value: T): void {
    if (this.over) return
    const { waiting } = this
    this.waiting = undefined
    if (waiting) waiting({ done: false, value })
    else this.buffer.push(value)
  }

  end(): void {
    this.over = true
    this.waiting?.({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return {
      next: () =>
        new Promise((resolve) => {
          if (this.buffer.length > 0) resolve({ done: false, value: this.buffer.shift()! })
          else if (this.over) resolve({ done: true, value: undefined })
          else this.waiting = resolve
        }),
    }
  }
}
