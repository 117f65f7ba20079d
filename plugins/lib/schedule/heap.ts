/** Priority queue of due times. */
export class DueHeap {
  private readonly heap: { id: string; at: number; turn: number }[] = []
  /** Valid entry of each id; older entries are dropped when they reach the top. */
  private readonly turns = new Map<string, number>()
  private turn = 0

  set(id: string, at: number | undefined): void {
    this.turn += 1
    if (at === undefined) return void this.turns.delete(id)
    this.turns.set(id, this.turn)
    this.heap.push({ id, at, turn: this.turn })
    this.siftUp(this.heap.length - 1)
    if (this.heap.length > 64 && this.heap.length > 4 * this.turns.size) this.compact()
  }

  /** Returns the earliest due time; `undefined` if the queue is empty. */
  next(): number | undefined {
    while (this.heap.length > 0 && this.turns.get(this.heap[0]!.id) !== this.heap[0]!.turn) this.removeFirst()
    return this.heap[0]?.at
  }

  /** Removes and yields every id that is due by a time, the earliest first. */
  *take(by: number): Generator<string> {
    for (let at = this.next(); at !== undefined && at <= by; at = this.next()) {
      const { id } = this.heap[0]!
      this.removeFirst()
      this.turns.delete(id)
      yield id
    }
  }

  private compact(): void {
    const left = this.heap.filter(({ id, turn }) => this.turns.get(id) === turn)
    this.heap.length = 0
    for (const one of left) this.siftUp(this.heap.push(one) - 1)
  }

  private siftUp(from: number): void {
    for (
      let at = from, above = (at - 1) >> 1;
      at > 0 && this.heap[at]!.at < this.heap[above]!.at;
      at = above, above = (at - 1) >> 1
    )
      this.swap(at, above)
  }

  private removeFirst(): void {
    const last = this.heap.pop()!
    if (this.heap.length === 0) return
    this.heap[0] = last
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let least = at
      if (left < this.heap.length && this.heap[left]!.at < this.heap[least]!.at) least = left
      if (right < this.heap.length && this.heap[right]!.at < this.heap[least]!.at) least = right
      if (least === at) return
      this.swap(at, least)
      at = least
    }
  }

  private swap(a: number, b: number): void {
    const one = this.heap[a]!
    this.heap[a] = this.heap[b]!
    this.heap[b] = one
  }
}
