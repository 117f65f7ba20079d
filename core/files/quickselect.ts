/** Brings the first `count` items in front of all others, the last of them to its end, in no order else and in time linear in all. */
export function quickselect<T>(items: T[], count: number, isBefore: (a: T, b: T) => boolean): void {
  const last = count - 1
  for (let [low, high] = [0, items.length - 1]; low < high;) {
    // Who makes the names cannot make them the slowest to choose among.
    const pivot = items[low + Math.floor(Math.random() * (high - low + 1))]!
    let [left, right] = [low, high]
    while (left <= right) {
      while (isBefore(items[left]!, pivot)) left++
      while (isBefore(pivot, items[right]!)) right--
      if (left > right) break
      const item = items[left]!
      items[left++] = items[right]!
      items[right--] = item
    }
    if (last <= right) high = right
    else if (last >= left) low = left
    else return
  }
}
