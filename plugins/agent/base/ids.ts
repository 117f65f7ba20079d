import type { Clock, Random } from './components.js'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Makes ids that sort by time: a prefix and a ULID, https://github.com/ulid/spec. */
export function createIdMaker(
  clock: Clock,
  random: Random,
): (prefix: 'ses' | 'th' | 'tn' | 'it' | 'seg' | 'in' | 'h') => string {
  return (prefix) => {
    let time = clock.now()
    let head = ''
    for (let index = 0; index < 10; index++, time = Math.floor(time / 32)) head = ALPHABET[time % 32] + head
    const tail = Array.from({ length: 16 }, () => ALPHABET[Math.floor(random.next() * 32)]).join('')
    return `${prefix}_${head}${tail}`
  }
}
