/**
 * Moves the first `count` items to the front, unordered but for the last of them, which is at its final index. Takes
 * linear time.
 */
export function quickselect<T>(items: T[], count: number, isBefore: (a: T, b: T) => boolean): void {
  const last = count - 1
  for (let [low, high] = [0, items.length - 1]; low < high;) {
    // A random pivot: names cannot be chosen to make this slow.
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
