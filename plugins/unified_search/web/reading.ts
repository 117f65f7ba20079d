/** What a reader makes of a page. */
export interface PageReading {
  title?: string
  markdown: string
  links: { text: string; url: string }[]
  /** False when only the bare text could be had. */
  structured: boolean
}
