import { matchesKey, visibleWidth } from '../text/index.js'
import { visibleLine } from '../../../core/text/index.js'

/** Editor of one line. */
export class LineInput {
  private readonly letters: string[]
  private at: number

  constructor(initial = '') {
    this.letters = Array.from(initial)
    this.at = this.letters.length
  }

  get text(): string {
    return this.letters.join('')
  }
  /** Columns before the cursor. */
  get column(): number {
    return visibleWidth(visibleLine(this.letters.slice(0, this.at).join('')))
  }

  key(data: string): void {
    const { letters, at } = this
    if (matchesKey(data, 'left')) this.at = Math.max(0, at - 1)
    else if (matchesKey(data, 'right')) this.at = Math.min(letters.length, at + 1)
    else if (matchesKey(data, 'home') || matchesKey(data, 'ctrl+a')) this.at = 0
    else if (matchesKey(data, 'end') || matchesKey(data, 'ctrl+e')) this.at = letters.length
    else if (matchesKey(data, 'backspace')) this.erase(Math.max(0, at - 1), at)
    else if (matchesKey(data, 'delete')) this.erase(at, at + 1)
    else if (matchesKey(data, 'ctrl+u')) this.erase(0, at)
    else if (matchesKey(data, 'ctrl+k')) this.erase(at, letters.length)
    else {
      const more = Array.from(toText(data))
      letters.splice(at, 0, ...more)
      this.at = at + more.length
    }
  }

  private erase(from: number, to: number): void {
    this.letters.splice(from, to - from)
    this.at = from
  }
}

/** Returns the text of a key or of a paste. */
const toText = (data: string): string =>
  data
    .replaceAll(/\u001b\[20[01]~/g, '')
    .replace(/^\u001b.*|\p{Cc}+/gsu, ' ')
    .replace(/^ $/, data === ' ' ? ' ' : '')
